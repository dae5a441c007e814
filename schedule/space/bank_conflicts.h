#pragma once

#include <optional>

#include "ir/expr/function.h"
#include "schedule/space/trace.h"

namespace tcc {

// Returns the number of shared-memory passes that one read needs: those of the first warp that
// reaches the block, for `access`, in the first iteration of all loops that are not thread loops.
// The result is 1 if no two threads want different words of one bank. Reads count as one cell per
// thread. Returns nullopt if the cells' offsets are no sum of strides, or are not known at `sizes`.
std::optional<int64_t> WarpPasses(const Function& fn, const std::string& block,
                                  const Access& access, const Decisions& sizes);

// Returns whether the threads read different rows through the access, so that the row stride
// decides the bank conflicts: an index other than the last depends on a thread loop.
bool ThreadsReadRows(const Function& fn, const std::string& block, const Access& access);

}  // namespace tcc
