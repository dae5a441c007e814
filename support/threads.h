#pragma once

#include <functional>
#include <optional>
#include <thread>

namespace tcc {

// A thread that runs `work`; nothing where the system has none to give: a limit of processes or of
// address space, a container's limit of pids.
std::optional<std::thread> StartThread(std::function<void()> work);

// Calls work() on the calling thread and on up to threads - 1 others at the same time, fewer where
// the system has no more, and returns when all have returned. What a call throws, std::bad_alloc
// say, the caller gets.
void RunOnThreads(int threads, const std::function<void()>& work);

}  // namespace tcc
