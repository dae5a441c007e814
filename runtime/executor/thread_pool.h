#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "runtime/executor/per_process.h"

namespace tcc {

struct ThreadPoolOptions {
  // The number of threads that work, including the caller of ParallelFor; 0: one per CPU that the
  // process may use (usable_cpus.h). The pool makes at most 1024, and fewer than asked for if the
  // system has no more.
  int threads = 0;
  // The time that an idle worker looks for work before it sleeps. It is longer than the serial code
  // between two layers, and shorter than what a machine's other users would notice.
  int spin_microseconds = 50;
};

// A range [begin, end) of a loop that a thread of a pool has run.
struct ObservedRange {
  int thread = 0;  // 0: the caller of ParallelFor
  int64_t begin = 0, end = 0;
  std::chrono::steady_clock::time_point start, stop;
};

// A function that is called with each range, on the thread that has run it.
using LoopObserver = std::function<void(const ObservedRange& range)>;

// A pool of threads that share loops. Any thread may call ParallelFor, also at the same time as
// others and from inside a body.
//
// When the pool has exactly one thread per CPU that the process may use, its workers are pinned to
// the CPUs that the caller is not on; the pool never changes the caller's affinity. A smaller pool
// is not pinned: two processes with two threads each would otherwise pile up on the first CPUs. A
// larger pool is not pinned either, because its threads have to take turns. Nor is the pool of a
// process with a quota of CPU time that its CPUs would use up. The system spreads both best.
//
// A fork leaves the child without the workers; there the pool makes new ones when it is used.
class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Returns the number of threads that exist, which may be fewer than asked for.
  int threads() const;

  using Body = void (*)(void* closure, int64_t begin, int64_t end);

  // Calls body(closure, begin, end) on disjoint ranges that together are [0, count) and returns
  // when all have returned. Each thread begins with its own contiguous share and then steals from
  // the others, so that equal loops over equal data mostly find it in the same cache. Runs the
  // whole range on the calling thread when count <= 1, inside a body, or while another thread is
  // using the pool.
  void ParallelFor(int64_t count, Body body, void* closure);

  // Calls fn(begin, end) in the same way.
  template <typename Fn>
  void ParallelFor(int64_t count, Fn&& fn) {
    ParallelFor(
        count,
        [](void* closure, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<Fn>*>(closure))(begin, end);
        },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

  // Sets the observer of loops that the pool's threads share; empty: none, which costs nothing. The
  // calls for a loop are made before ParallelFor returns. Loops that run on their caller alone are
  // not observed. Expects that no loop runs.
  void set_observer(LoopObserver observer);

 private:
  struct State;
  PerProcess<State> state_;
};

}  // namespace tcc
