#pragma once

#include <optional>

#include "ir/expr/function.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// The other side of FootprintInside: bytes of the distinct cells that one iteration of `loop`
// accesses, found by running its loops one instance at a time, guards and predicates included. Of
// the iterations at which the loops down to `loop` are all at their first, or all at their last,
// value the one that accesses more. Cells at indices that are read from memory are not counted.
// nullopt: more than `most` instances. Sizes of `fn` are known.
std::optional<int64_t> BytesTouchedInside(const Function& fn, const LoopRef& loop, int64_t most);

}  // namespace tcc
