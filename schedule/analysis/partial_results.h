#pragma once

#include "schedule/analysis/reduction_nest.h"

// Buffers of partial results that the steps on reductions allocate, and where they go.
namespace tcc {

// Of element e: `name`, or name.e of a tuple.
std::string PartialName(const std::string& name, const Reduce& reduce, size_t e);

// buffer[indices] of the buffer's element type.
Expr MakeLoad(const Var& buffer, const std::vector<Expr>& indices);

// The extent of `loop` can be a size of a buffer: no loop of the nest or above it is in it.
Status ExpectFixedExtent(const char* step, const For& loop, const ReductionNest& found);

// The statements above the nest.
Path PathAbove(const ReductionNest& found);

// The loops that move while a buffer of that scope lives: `moving`, and for a shared one the thread
// loops above the nest and among `outer`.
std::vector<Ref<For>> MovingWithThreads(const std::vector<Ref<For>>& moving,
                                        const ReductionNest& found,
                                        const std::vector<Ref<For>>& outer, Scope scope);

// Gives each buffer the window that `block`, a leaf that writes them in their order, writes while
// the `moving` loops run: at the root of the function, where no loop is above, the whole buffer.
// Error: an index that is not affine in the moving loops.
Status PlaceBuffers(const Block& block, const ReductionNest& found,
                    const std::vector<Ref<For>>& moving, std::vector<Buffer>& buffers);

// `root` with the nest replaced by `nests`, and the buffers allocated: at the root where no loop is
// above the nest, else round `nests`.
Stmt WithNests(const Stmt& root, const ReductionNest& found, const std::vector<Buffer>& buffers,
               const Stmt& nests);

}  // namespace tcc
