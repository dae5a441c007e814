#include "runtime/executor/per_process.h"

#include <pthread.h>

namespace tcc {
namespace {

constinit std::atomic<uint64_t> forks{0};

void CountFork() {
  forks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

uint64_t ForkCount() {
  // Asking the system for the process' number at every loop would cost more than some loops do.
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, CountFork);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace tcc
