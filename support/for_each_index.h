#pragma once

#include <cstddef>
#include <functional>

#include "support/status.h"

namespace tcc {

// Calls work(i) for i in 0..count on several threads and returns the failure of the lowest index.
Status ForEachIndex(size_t count, int threads, const std::function<Status(size_t)>& work);

}  // namespace tcc
