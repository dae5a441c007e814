#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <thread>

#include "support/status.h"

namespace tcc {

// Starts a thread that runs `work`. Returns nullopt where the system refuses one: a limit of
// processes or of address space, a container's limit of pids.
std::optional<std::thread> StartThread(std::function<void()> work);

// Calls work() concurrently on the calling thread and on up to threads - 1 others, fewer where the
// system has no more, and returns when all have returned. Rethrows an exception of a call, e.g.
// std::bad_alloc.
void RunOnThreads(int threads, const std::function<void()>& work);

// Calls work(i) for i in 0..count on several threads and returns the failure of the lowest index.
Status ForEachIndex(size_t count, int threads, const std::function<Status(size_t)>& work);

}  // namespace tcc
