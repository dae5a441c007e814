#pragma once

#include <optional>
#include <vector>

#include "ir/expr/function.h"

// What sketch rules ask about a block.
namespace tcc {

bool IsReduction(const Block& block);
// Its reduce variables have an order (IterKind): only loops round them may be touched.
bool IsOrdered(const Block& block);

// Positions of the block's iteration variables of that kind.
std::vector<size_t> ItersOf(const Block& block, IterKind kind);

// Whether all iteration variables have extents that are numbers.
bool HasKnownExtents(const Block& block);

// Whether some operand is used again by other values of a spatial variable: an index of no part of
// it has that variable. What tiling is good for.
bool HasReuse(const Block& block);

// Whether the cells that `index` covers over the block's reduction are also covered from a
// neighbour along a spatial variable: it takes shorter steps than that.
bool Slides(const Expr& index, const Block& block);
// Whether windows slide: some index has a spatial and a reduce variable, and neighbours along the
// spatial one share operands.
bool HasWindow(const Block& block);

// Elements between what neighbours along the block's variable access: 0 where it is the same.
// nullopt where there is no such number: data decides, or it is not known.
std::optional<int64_t> StrideAlong(const Function& fn, const Access& access, const Var& var);
// Whether what they access are neighbours in memory, or the same: lanes along it need no gather.
bool IsContiguousAlong(const Function& fn, const Access& access, const Var& var);

// A reduction that sets its own identities and writes one buffer at just its spatial variables, in
// their order.
bool WritesPlainly(const Block& block);
// The same of each buffer of a tuple.
bool WritesTuplePlainly(const Block& block);

// The one block that reads the buffer, which is no parameter, and the map that alone writes it,
// into cells of its own; nullptr where there is none such.
const Block* OnlyReaderOf(const Function& fn, const Var& buffer);
const Block* OnlyMapInto(const Function& fn, const Var& buffer);

// The block that alone reads what `block` alone writes, element by element at its own variables, or
// nullptr. What is written is no parameter, and whatever else is read was written before.
const Block* EpilogueOf(const Function& fn, const Block& block);
// The same of a tuple, or of one buffer: the block may leave out some of the results, which then
// nobody reads.
const Block* TupleEpilogueOf(const Function& fn, const Block& block);

}  // namespace tcc
