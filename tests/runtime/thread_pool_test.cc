#include "runtime/executor/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <algorithm>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "runtime/cpu/kernel_calls.h"
#include "runtime/executor/usable_cpus.h"
#include "support/random.h"
#include "support/threads.h"
#include "tests/runtime/address_sanitizer.h"
#include "tests/runtime/child_process.h"

using namespace tcc;

namespace {

// Adds 1 to each of `count` cells in parallel; how many cells were not visited exactly once.
int64_t WrongVisits(ThreadPool& pool, std::vector<int>& cells, int64_t count) {
  std::ranges::fill(cells, 0);
  pool.ParallelFor(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++cells[static_cast<size_t>(i)];
  });
  int64_t wrong = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    wrong += cells[i] != (static_cast<int64_t>(i) < count ? 1 : 0);
  }
  return wrong;
}

// Of 200 loops.
int64_t WrongVisits(ThreadPool& pool) {
  std::vector<int> cells(300);
  int64_t wrong = 0;
  for (int64_t count = 0; count < 200; ++count) wrong += WrongVisits(pool, cells, count);
  return wrong;
}

// Where each of the pool's threads may run; each body waits for the others, so that each thread
// runs one, for five seconds at most.
std::vector<std::vector<int>> Affinities(ThreadPool& pool) {
  auto threads = static_cast<size_t>(pool.threads());
  std::vector<std::vector<int>> affinities(threads);
  std::atomic<size_t> arrived{0};
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  pool.ParallelFor(static_cast<int64_t>(threads), [&](int64_t begin, int64_t) {
    ++arrived;
    while (arrived < threads && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    affinities[static_cast<size_t>(begin)] = AllowedCpus();
  });
  return affinities;
}

// No thread can be made while this lives: each would get a stack larger than the address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 50);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace

TEST_CASE("a pool of more threads than CPUs is right and pins none of them", "[runtime][threads]") {
  std::vector<int> cpus = AllowedCpus();
  for (int threads = 1; threads <= 8; ++threads) {
    INFO(threads << " threads on " << cpus.size() << " CPUs");
    ThreadPool pool({.threads = threads});
    CHECK(pool.threads() == threads);
    CHECK(WrongVisits(pool) == 0);
    if (static_cast<size_t>(threads) == cpus.size()) continue;
    for (const std::vector<int>& affinity : Affinities(pool)) CHECK(affinity == cpus);
  }
}

TEST_CASE("a pool is the caller alone where the system has no thread for it",
          "[runtime][threads]") {
  std::optional<ThreadPool> pool;
  {
    NoThreads no_threads;
    CHECK_FALSE(StartThread([] {}));
    pool.emplace(ThreadPoolOptions{.threads = 4});
  }
  CHECK(pool->threads() == 1);
  CHECK(WrongVisits(*pool) == 0);
}

// The limits of a sanitizer's address space are its own.
#ifndef TCC_ADDRESS_SANITIZER
TEST_CASE("a pool goes on with the threads that it got", "[runtime][threads]") {
  // Stacks take 8 MiB each, or what the limit of stacks says.
  std::string problem = InChild([] {
    if (!LimitMemoryTo(MemoryInUse() + (int64_t{100} << 20))) return "no limit can be set";
    ThreadPool pool({.threads = 64});
    if (pool.threads() < 2) return "no thread was made";
    if (pool.threads() == 64) return "every thread was made";
    return WrongVisits(pool) == 0 ? "" : "wrong results";
  });
  INFO(problem);
  CHECK(problem.empty());
}
#endif

TEST_CASE("work is all done by the threads that can be made", "[runtime][threads]") {
  auto sum = [] {
    std::atomic<int> next{0}, total{0};
    RunOnThreads(4, [&] {
      for (int i = next++; i < 100; i = next++) total += i;
    });
    return total.load();
  };
  CHECK(sum() == 4950);
  NoThreads no_threads;
  CHECK(sum() == 4950);
}

TEST_CASE("what a thread throws ends up with the caller", "[runtime][threads]") {
  std::atomic<int> calls{0};
  std::vector<int> empty;
  CHECK_THROWS_AS(RunOnThreads(3,
                               [&] {
                                 ++calls;
                                 empty.at(7) = 1;
                               }),
                  std::out_of_range);
  CHECK(calls == 3);
}

TEST_CASE("a forked child has workers of its own and its affinity stays",
          "[runtime][threads][fork]") {
  std::vector<int> cpus = AllowedCpus();
  for (int threads : {static_cast<int>(cpus.size()), 3}) {
    auto pool = std::make_unique<ThreadPool>(ThreadPoolOptions{.threads = threads});
    for (int round = 0; round < 20; ++round) {
      CHECK(WrongVisits(*pool) == 0);
      std::string problem = InChild([&] {
        if (pool->threads() != threads) return "another number of threads";
        if (WrongVisits(*pool) != 0) return "wrong results";
        for (const std::vector<int>& affinity : Affinities(*pool)) {
          if (affinity.empty()) return "a thread took no part";
        }
        if (AllowedCpus() != cpus) return "the child is pinned";
        pool.reset();
        return "";
      });
      INFO(problem);
      REQUIRE(problem.empty());
    }
    CHECK(WrongVisits(*pool) == 0);
  }
}

TEST_CASE("a fork in the middle of another thread's loop leaves the child a pool",
          "[runtime][threads][fork]") {
  auto pool = std::make_unique<ThreadPool>(ThreadPoolOptions{.threads = 2});
  std::atomic<bool> stop{false}, looping{false};
  std::thread other([&] {
    while (!stop) {
      pool->ParallelFor(64, [&](int64_t, int64_t) { looping = true; });
    }
  });
  while (!looping) std::this_thread::yield();
  for (int round = 0; round < 50; ++round) {
    std::string problem = InChild([&] {
      if (WrongVisits(*pool) != 0) return "wrong results";
      for (const std::vector<int>& affinity : Affinities(*pool)) {
        if (affinity.empty()) return "a thread took no part";
      }
      pool.reset();
      return "";
    });
    INFO(problem);
    CHECK(problem.empty());
    if (!problem.empty()) break;
  }
  stop = true;
  other.join();
}

TEST_CASE("a child that does not use the pool ends it without its workers",
          "[runtime][threads][fork]") {
  auto pool = std::make_unique<ThreadPool>(ThreadPoolOptions{.threads = 3});
  std::string problem = InChild([&] {
    pool.reset();
    return "";
  });
  INFO(problem);
  CHECK(problem.empty());
  CHECK(WrongVisits(*pool) == 0);
}

TEST_CASE("ten thousand loops visit every index exactly once", "[runtime][threads]") {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool({.threads = threads});
    CHECK(pool.threads() == threads);
    Random random(static_cast<uint64_t>(threads));
    std::vector<int> cells(300);
    int64_t wrong = 0;
    for (int loop = 0; loop < 10000; ++loop) {
      wrong += WrongVisits(pool, cells, random.Between(0, 300));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("workers that sleep between loops wake up for them", "[runtime][threads]") {
  ThreadPool pool({.threads = 4, .spin_microseconds = 0});
  std::vector<int> cells(64);
  int64_t wrong = 0;
  for (int loop = 0; loop < 2000; ++loop) {
    wrong += WrongVisits(pool, cells, 64);
    if (loop % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(wrong == 0);
}

// Two threads on one CPU would take turns while another CPU idles.
TEST_CASE("a pool of all CPUs uses each of them wherever its caller is", "[runtime][threads]") {
  std::vector<int> cpus = AllowedCpus();
  ThreadPool pool({.threads = static_cast<int>(cpus.size()), .spin_microseconds = 0});
  for (int home : cpus) {
    INFO("the caller is on CPU " << home);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(home, &set);
    REQUIRE(sched_setaffinity(0, sizeof(set), &set) == 0);
    std::vector<std::atomic<int>> seen(cpus.size());
    std::atomic<size_t> arrived{0};
    // Each body waits for the others, so that each thread runs one.
    pool.ParallelFor(static_cast<int64_t>(cpus.size()), [&](int64_t begin, int64_t) {
      ++arrived;
      while (arrived < cpus.size()) std::this_thread::yield();
      seen[static_cast<size_t>(begin)] = sched_getcpu();
    });
    std::set<int> distinct(seen.begin(), seen.end());
    CHECK(distinct.size() == cpus.size());
  }
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu : cpus) CPU_SET(cpu, &all);
  REQUIRE(sched_setaffinity(0, sizeof(all), &all) == 0);
}

TEST_CASE("more than one thread takes part in a long loop", "[runtime][threads]") {
  ThreadPool pool({.threads = 2});
  std::atomic<bool> both{false};
  // Each body waits for the other, which only ends if two threads run them at the same time.
  for (int attempt = 0; attempt < 20 && !both; ++attempt) {
    std::atomic<int> inside{0};
    pool.ParallelFor(2, [&](int64_t, int64_t) {
      ++inside;
      auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      while (inside < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      if (inside == 2) both = true;
    });
  }
  CHECK(both);
}

TEST_CASE("several callers at once each get their whole loop", "[runtime][threads]") {
  ThreadPool pool({.threads = 3});
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      std::vector<int> cells(200);
      for (int loop = 0; loop < 3000; ++loop) {
        wrong += WrongVisits(pool, cells, (loop * 7 + caller) % 200);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("a loop inside a loop runs on the thread that meets it", "[runtime][threads]") {
  ThreadPool pool({.threads = 4});
  std::vector<std::atomic<int>> cells(100);
  std::atomic<int> strangers{0};
  pool.ParallelFor(10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::thread::id outer = std::this_thread::get_id();
      pool.ParallelFor(10, [&](int64_t inner_begin, int64_t inner_end) {
        if (std::this_thread::get_id() != outer) ++strangers;
        for (int64_t j = inner_begin; j < inner_end; ++j) ++cells[static_cast<size_t>(i * 10 + j)];
      });
    }
  });
  CHECK(strangers == 0);
  for (const std::atomic<int>& cell : cells) CHECK(cell == 1);
}

TEST_CASE("an empty loop calls nothing", "[runtime][threads]") {
  ThreadPool pool({.threads = 2});
  int calls = 0;
  pool.ParallelFor(0, [&](int64_t, int64_t) { ++calls; });
  pool.ParallelFor(-5, [&](int64_t, int64_t) { ++calls; });
  CHECK(calls == 0);
}

TEST_CASE("by default a pool has a thread for each CPU that the process may use",
          "[runtime][threads]") {
  std::vector<int> cpus = AllowedCpus();
  CHECK(ThreadPool().threads() == UsableCpus());
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus.back(), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK(AllowedCpus() == std::vector<int>{cpus.back()});
    CHECK(ThreadPool().threads() == 1);
  }).join();
}

TEST_CASE("scratch allocations are aligned, apart and reused", "[runtime][threads]") {
  Random random(2);
  std::vector<std::pair<uint8_t*, size_t>> live;
  int64_t clobbered = 0;
  for (int step = 0; step < 20000; ++step) {
    if (live.size() < 12 && (live.empty() || random.OneIn(2))) {
      auto bytes = static_cast<size_t>(random.OneIn(20) ? random.Between(0, 1 << 20)
                                                        : random.Between(0, 3000));
      auto* memory = static_cast<uint8_t*>(AllocateScratch(static_cast<int64_t>(bytes)));
      REQUIRE(memory != nullptr);
      CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
      std::fill(memory, memory + bytes, static_cast<uint8_t>(live.size()));
      live.emplace_back(memory, bytes);
    } else {
      auto [memory, bytes] = live.back();
      live.pop_back();
      auto mark = static_cast<uint8_t>(live.size());
      clobbered += std::count_if(memory, memory + bytes, [&](uint8_t b) { return b != mark; });
      FreeScratch(memory);
    }
  }
  for (; !live.empty(); live.pop_back()) FreeScratch(live.back().first);
  CHECK(clobbered == 0);
  CHECK(AllocateScratch(-1) == nullptr);
  CHECK(AllocateScratch(int64_t{1} << 62) == nullptr);
  void* first = AllocateScratch(100);
  FreeScratch(first);
  CHECK(AllocateScratch(50) == first);
  FreeScratch(first);
}

TEST_CASE("an observer sees each part of a shared loop once, with the thread that ran it",
          "[runtime]") {
  ThreadPool pool({.threads = 3});
  std::vector<std::vector<ObservedRange>> parts(static_cast<size_t>(pool.threads()));
  pool.set_observer(
      [&](const ObservedRange& part) { parts[static_cast<size_t>(part.thread)].push_back(part); });
  std::vector<int> cells(300);
  for (int loop = 0; loop < 50; ++loop) {
    CHECK(WrongVisits(pool, cells, 299) == 0);
    std::vector<int> seen(299);
    for (std::vector<ObservedRange>& of_thread : parts) {
      for (size_t i = 0; i < of_thread.size(); ++i) {
        const ObservedRange& part = of_thread[i];
        CHECK(part.start <= part.stop);
        if (i > 0) CHECK(of_thread[i - 1].stop <= part.start);
        for (int64_t cell = part.begin; cell < part.end; ++cell) ++seen[static_cast<size_t>(cell)];
      }
      of_thread.clear();
    }
    CHECK(std::ranges::count(seen, 1) == (pool.threads() > 1 ? 299 : 0));
  }
  pool.set_observer({});
  CHECK(WrongVisits(pool, cells, 299) == 0);
  for (const std::vector<ObservedRange>& of_thread : parts) CHECK(of_thread.empty());
}

TEST_CASE("loops on their caller are not observed", "[runtime]") {
  std::atomic<int> seen = 0;
  auto count = [&](const ObservedRange&) { ++seen; };
  std::vector<int> cells(300);
  ThreadPool one({.threads = 1});
  one.set_observer(count);
  CHECK(WrongVisits(one, cells, 300) == 0);
  ThreadPool two({.threads = 2});
  two.set_observer(count);
  CHECK(WrongVisits(two, cells, 1) == 0);
  CHECK(seen == 0);
}
