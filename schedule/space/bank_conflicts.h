#pragma once

#include <optional>

#include "ir/expr/function.h"
#include "schedule/space/trace.h"

namespace tcc {

// How often the banks of shared memory are asked for what the first warp that comes to a block
// reads by one of its accesses, in the first iterations of all loops that are no threads: 1 where
// no two threads want different words of one bank. Reads are counted one cell a thread. nullopt
// where the cells' places are no sum of strides, or not known at `sizes`.
std::optional<int64_t> WarpPasses(const Function& fn, const std::string& block,
                                  const Access& access, const Decisions& sizes);

// Whether threads read different rows by the access, so that the rows' stride decides which banks
// they meet in: an index other than the last moves with them.
bool ThreadsReadRows(const Function& fn, const std::string& block, const Access& access);

}  // namespace tcc
