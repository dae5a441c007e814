#include "runtime/cpu/cpu_rates.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cpu/rate_loops.h"
#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/available_memory.h"
#include "support/check.h"
#include "support/stopwatch.h"
#include "support/target.h"

namespace tcc {
namespace {

constexpr int64_t kMiB = 1 << 20;
// Each rate is measured for 0.3 s, but in at least 5 runs.
constexpr double kSecondsOfRate = 0.3;
constexpr int kMinRuns = 5;

// Returns the seconds of the fastest run.
template <typename Fn>
double LeastSeconds(Fn&& run) {
  double least = 0, total = 0;
  for (int runs = 0; runs < kMinRuns || total < kSecondsOfRate; ++runs) {
    Stopwatch stopwatch;
    run();
    double seconds = stopwatch.Seconds();
    least = runs == 0 ? seconds : std::min(least, seconds);
    total += seconds;
  }
  // A clock that stood still must not give an infinite rate.
  return std::max(least, 1e-9);
}

// Runs additions of which each needs the one before. The asm hides the term, because CPUs add
// constants while they rename registers, and keeps every addition.
constexpr int64_t kAdditions = 1 << 20;
void RunAdditions() {
  constexpr int kUnrolled = 16;
  uint64_t sum = 0, term = 1;
  asm volatile("" : "+r"(term));
  for (int64_t i = 0; i < kAdditions / kUnrolled; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kUnrolled; ++j) {
      sum += term;
      asm volatile("" : "+r"(sum));
    }
  }
}

double Hertz() {
  return static_cast<double>(kAdditions) / LeastSeconds(RunAdditions);
}

double FmaPerCycle(const Target& native, double hertz) {
  ThreadPool alone({.threads = 1});
  double operations = 0;
  double seconds = LeastSeconds([&] { operations = RunFmaLoop(alone); });
  return operations / (2 * native.FloatLanes() * seconds * hertz);
}

// Returns the bytes per second that the pool's threads read together, each its own piece again and
// again; 0 where there is no memory for them.
double ReadRate(ThreadPool& pool, int64_t piece) {
  constexpr int64_t kBytesOfRun = 64 * kMiB;
  const int64_t threads = pool.threads(), passes = std::max<int64_t>(kBytesOfRun / piece, 1);
  piece = std::max(piece / kReadStep, int64_t{1}) * kReadStep;
  StatusOr<std::shared_ptr<uint8_t>> memory =
      AllocateMemory(threads * piece, "measuring the rates of caches");
  if (!memory.ok()) return 0;
  uint8_t* bytes = memory->get();
  // Pages that nobody has written are all one page of zeros.
  pool.ParallelFor(threads, [&](int64_t begin, int64_t end) {
    std::memset(bytes + begin * piece, 1, static_cast<size_t>((end - begin) * piece));
  });
  double seconds = LeastSeconds([&] {
    pool.ParallelFor(threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t pass = 0; pass < passes; ++pass) ReadInVectors(bytes + i * piece, piece);
      }
    });
  });
  return static_cast<double>(threads * piece * passes) / seconds;
}

struct Rates {
  double one = 0;
  double all = 0;
};
// All threads reach at least what one does.
Rates ReadRates(ThreadPool& pool, int64_t piece_of_one, int64_t piece_of_all) {
  ThreadPool alone({.threads = 1});
  double one = ReadRate(alone, piece_of_one);
  if (pool.threads() == 1) return {one, one};
  return {one, std::max(one, ReadRate(pool, piece_of_all))};
}

// Every thread waits for all others in each loop: the caller alone would be done with an empty loop
// before a worker has seen it.
double ForkSeconds(ThreadPool& pool) {
  if (pool.threads() == 1) return 0;
  constexpr int kLoops = 100, kLooksBeforeYield = 1000;
  const int64_t threads = pool.threads();
  std::atomic<int64_t> arrived = 0;
  int64_t expected = 0;
  auto meet = [&](int64_t begin, int64_t end) {
    arrived += end - begin;
    for (int looks = 0; arrived.load() < expected; ++looks) {
      if (looks > kLooksBeforeYield) std::this_thread::yield();
    }
  };
  double seconds = LeastSeconds([&] {
    for (int i = 0; i < kLoops; ++i) {
      expected += threads;
      pool.ParallelFor(threads, meet);
    }
  });
  return seconds / kLoops;
}

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number of CPUs in a list of Linux, "0-7,64".
int64_t CpusIn(const std::string& list) {
  int64_t cpus = 0;
  for (const std::string& range : std::vector<std::string>(absl::StrSplit(list, ','))) {
    std::vector<std::string> ends = absl::StrSplit(range, '-');
    int64_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last)) continue;
    cpus += std::max<int64_t>(last - first + 1, 0);
  }
  return cpus;
}

struct SharedCache {
  int64_t bytes = 0;  // 0 where the system does not tell
  int64_t cpus = 1;   // that share it
};

// Linux, Documentation/ABI/testing/sysfs-devices-system-cpu; a size is "32768K".
SharedCache FindL3() {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index3/";
  std::string size = FirstLine(folder + "size");
  int64_t kib = 0;
  if (!size.ends_with('K') || !absl::SimpleAtoi(size.substr(0, size.size() - 1), &kib)) return {};
  return {kib * 1024, std::max<int64_t>(CpusIn(FirstLine(folder + "shared_cpu_list")), 1)};
}

// A piece beyond 8 times L2 tells no more, and others on this machine may hold their part of L3.
Rates L3Rates(ThreadPool& pool, const SharedCache& l3, int64_t l2_bytes) {
  if (l3.bytes < 2 * l2_bytes) return {};
  int64_t piece = std::clamp(l3.bytes / l3.cpus / 2, 2 * l2_bytes, 8 * l2_bytes);
  return ReadRates(pool, piece, piece);
}

Rates MemoryRates(ThreadPool& pool, int64_t l3_bytes) {
  int64_t bytes = std::max(4 * l3_bytes, 256 * kMiB);
  bytes = std::min(bytes, AvailableMemory() / 4);
  if (bytes < std::max(2 * l3_bytes, 64 * kMiB)) return {};  // too much would come from L3
  return ReadRates(pool, bytes, bytes / pool.threads());
}

}  // namespace

double RunFmaLoop(ThreadPool& pool) {
  std::atomic<double> operations = 0;
  pool.ParallelFor(pool.threads(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) operations += RunFmaChains();
  });
  return operations;
}

CpuRates MeasureCpuRates(ThreadPool& pool) {
  StatusOr<Target> native = FindTarget("native");
  TCC_CHECK(native.ok());
  const SharedCache l3 = FindL3();
  CpuRates rates;
  rates.l1_bytes = static_cast<double>(native->l1_bytes);
  rates.l2_bytes = static_cast<double>(native->l2_bytes);
  rates.l3_bytes = static_cast<double>(l3.bytes);
  rates.hertz = Hertz();
  rates.fma_per_cycle = FmaPerCycle(*native, rates.hertz);
  ThreadPool alone({.threads = 1});
  rates.l2_rate = ReadRate(alone, native->l2_bytes / 2);
  Rates of_l3 = L3Rates(pool, l3, native->l2_bytes);
  rates.l3_rate = of_l3.one;
  rates.l3_all_rate = of_l3.all;
  Rates of_memory = MemoryRates(pool, l3.bytes);
  rates.memory_rate = of_memory.one;
  rates.memory_all_rate = of_memory.all;
  rates.fork_seconds = ForkSeconds(pool);
  return rates;
}

}  // namespace tcc
