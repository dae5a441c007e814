#pragma once

#include <cstddef>
#include <functional>

#include "support/status.h"

namespace tcc {

// Calls work(i) for i in 0..count on several threads; the first failure by index is returned.
Status ForEachIndex(size_t count, int threads, const std::function<Status(size_t)>& work);

}  // namespace tcc
