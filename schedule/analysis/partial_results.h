#pragma once

#include "schedule/analysis/reduction_nest.h"

// The buffers of partial results that the steps on reductions allocate, and their placement.
namespace tcc {

// Returns the buffer's name for element e: `name`, or name.e if the reduction is to a tuple.
std::string PartialName(const std::string& name, const Reduce& reduce, size_t e);

// Returns buffer[indices], with the buffer's element type.
Expr MakeLoad(const Var& buffer, const std::vector<Expr>& indices);

// Checks that the extent of `loop` can be a buffer's size: it uses no loop of the nest or above the
// nest.
Status ExpectFixedExtent(const char* step, const For& loop, const ReductionNest& found);

// Returns the statements above the nest.
Path PathAbove(const ReductionNest& found);

// Returns the loops that iterate during the lifetime of a buffer of that scope: `moving`, and for a
// shared buffer the thread loops above the nest and among `outer`.
std::vector<Ref<For>> MovingWithThreads(const std::vector<Ref<For>>& moving,
                                        const ReductionNest& found,
                                        const std::vector<Ref<For>>& outer, Scope scope);

// Gives each buffer its window: the cells that `block` writes while the `moving` loops run. `block`
// is a leaf that writes the buffers in their order. At the root of the function, where no loop is
// above, a buffer gets no window. Error: an index that is not affine in the moving loops.
Status PlaceBuffers(const Block& block, const ReductionNest& found,
                    const std::vector<Ref<For>>& moving, std::vector<Buffer>& buffers);

// Returns `root` with the nest replaced by `nests` and the buffers allocated: at the root if no
// loop is above the nest, else around `nests`.
Stmt WithNests(const Stmt& root, const ReductionNest& found, const std::vector<Buffer>& buffers,
               const Stmt& nests);

}  // namespace tcc
