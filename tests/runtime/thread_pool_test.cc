#include "runtime/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <thread>

#include "ir/support/random.h"
#include "runtime/scratch.h"

using namespace tcc;

namespace {

// Adds 1 to each of `count` cells in parallel; how many cells were not visited exactly once.
int64_t WrongVisits(ThreadPool& pool, std::vector<int>& cells, int64_t count) {
  std::fill(cells.begin(), cells.end(), 0);
  pool.ParallelFor(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++cells[static_cast<size_t>(i)];
  });
  int64_t wrong = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    wrong += cells[i] != (static_cast<int64_t>(i) < count ? 1 : 0);
  }
  return wrong;
}

}  // namespace

TEST_CASE("ten thousand loops visit every index exactly once", "[threads]") {
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

TEST_CASE("workers that sleep between loops wake up for them", "[threads]") {
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
TEST_CASE("a pool of all CPUs uses each of them wherever its caller is", "[threads]") {
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

TEST_CASE("more than one thread takes part in a long loop", "[threads]") {
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

TEST_CASE("several callers at once each get their whole loop", "[threads]") {
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

TEST_CASE("a loop inside a loop runs on the thread that meets it", "[threads]") {
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

TEST_CASE("an empty loop calls nothing", "[threads]") {
  ThreadPool pool({.threads = 2});
  int calls = 0;
  pool.ParallelFor(0, [&](int64_t, int64_t) { ++calls; });
  pool.ParallelFor(-5, [&](int64_t, int64_t) { ++calls; });
  CHECK(calls == 0);
}

TEST_CASE("by default a pool has a thread for each CPU that the process may use", "[threads]") {
  std::vector<int> cpus = AllowedCpus();
  CHECK(ThreadPool().threads() == static_cast<int>(cpus.size()));
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus.back(), &one);
    REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK(AllowedCpus() == std::vector<int>{cpus.back()});
    CHECK(ThreadPool().threads() == 1);
  }).join();
}

TEST_CASE("scratch allocations are aligned, apart and reused", "[threads]") {
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
