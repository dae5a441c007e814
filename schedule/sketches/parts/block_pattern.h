#pragma once

#include <optional>
#include <vector>

#include "ir/expr/function.h"

// The properties of a block that sketch rules ask about.
namespace tcc {

bool IsReduction(const Block& block);
// Returns whether the reduce variables run in order (IterKind): only loops around them may be
// changed.
bool IsOrdered(const Block& block);

// Returns the positions of the block's iteration variables of that kind.
std::vector<size_t> ItersOf(const Block& block, IterKind kind);

// Returns whether the extents of all iteration variables are constants.
bool HasKnownExtents(const Block& block);

// Returns whether some operand of a reduction is reused by other values of a spatial variable: none
// of its indices uses that variable. Such reuse is what tiling exploits.
bool HasReuse(const Block& block);

// Returns whether the cells that `index` covers during the block's reduction overlap those of a
// neighbour along a spatial variable, whose step is shorter than the window.
bool Slides(const Expr& index, const Block& block);
// Returns whether the block has a sliding window: some index has a spatial and a reduce variable,
// and neighbours along the spatial one share operands.
bool HasWindow(const Block& block);

// Returns the stride in elements between the accesses of neighbours along the block's variable; 0
// if they access the same element. Returns nullopt if there is no constant stride: the index
// depends on data, or the stride is not known.
std::optional<int64_t> StrideAlong(const Function& fn, const Access& access, const Var& var);
// Returns whether that stride is 1 or 0: lanes along the variable need no gather.
bool IsContiguousAlong(const Function& fn, const Access& access, const Var& var);

// Returns whether the block is a reduction that sets its own identities and writes one buffer at
// exactly its spatial variables, in their order.
bool WritesPlainly(const Block& block);
// Returns the same for a reduction to a tuple, for each of its buffers.
bool WritesTuplePlainly(const Block& block);

// These two return the only block that reads the buffer, which must be no parameter, and the
// elementwise block that alone writes it, each cell once; nullptr if there is none.
const Block* OnlyReaderOf(const Function& fn, const Var& buffer);
const Block* OnlyMapInto(const Function& fn, const Var& buffer);

// Returns the epilogue of `block`, or nullptr: the only reader of the result, elementwise at its
// own variables. The result must be no parameter, not be made when the model is linked (Prepack),
// and have no other writer, and the epilogue's other operands must be written before `block`.
const Block* EpilogueOf(const Function& fn, const Block& block);
// Returns the epilogue of a reduction to a tuple, or to one buffer. It need not read all of the
// results; those it leaves out have no reader.
const Block* TupleEpilogueOf(const Function& fn, const Block& block);

}  // namespace tcc
