#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/executor/per_process.h"

namespace tcc {

struct ThreadPoolOptions {
  // How many threads work, the caller of ParallelFor among them; 0: one for each CPU that the
  // process may use (usable_cpus.h). At most 1024 are made, and fewer than asked for where the
  // system has no more.
  int threads = 0;
  // How long an idle worker looks for work before it sleeps. Longer than the serial code between
  // two layers, shorter than what a machine's other users would notice.
  int spin_microseconds = 50;
};

// Threads that share loops. Any thread may call ParallelFor, also at the same time as others and
// from inside a body.
//
// When the pool has exactly one thread for each CPU that the process may use, its workers are
// pinned to those that the caller is not on; the caller's affinity is the user's business. A
// smaller pool is not pinned: two processes with two threads each would otherwise pile up on the
// first CPUs. Nor is a larger one, whose threads have to take turns, or one of a process with a
// quota of CPU time that its CPUs would use up: the system spreads both best.
//
// A fork leaves the child without the workers; there the pool makes new ones when it is used.
class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // As many as there are, which may be fewer than asked for.
  int threads() const;

  using Body = void (*)(void* closure, int64_t begin, int64_t end);

  // Calls body(closure, begin, end) on disjoint ranges that together are [0, count) and returns
  // when all have returned. Each thread begins with its own contiguous share and then takes from
  // the others' rests, so that equal loops over equal data mostly find it in the same cache. Runs
  // the whole range on the calling thread when count <= 1, inside a body, or while another thread
  // is using the pool.
  void ParallelFor(int64_t count, Body body, void* closure);

  // The same for anything callable as fn(begin, end).
  template <typename Fn>
  void ParallelFor(int64_t count, Fn&& fn) {
    ParallelFor(
        count,
        [](void* closure, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<Fn>*>(closure))(begin, end);
        },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  struct State;
  PerProcess<State> state_;
};

}  // namespace tcc
