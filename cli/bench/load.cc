#include "cli/bench/load.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>

#include "support/device_profile.h"
#include "support/stopwatch.h"
#include "support/threads.h"

namespace tcc {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// In three runs a GPU's queue has recorded the model and a CPU's caches hold what they can.
constexpr int kWarmUpRuns = 3;
// Bounds of the options, which also bound the memory of the latencies: a minute, an hour, a million
// requests a second.
constexpr double kMaxWarmUpMs = 60'000, kMaxDuration = 3600, kMaxRate = 1e6;
// A sleeping thread wakes up to 60 us late; the rest of the time it looks at the clock.
constexpr std::chrono::microseconds kWakingTime(200);

Status CheckNumber(const char* option, double value, double max) {
  if (value >= 0 && value <= max) return OkStatus();  // NaN is in no range
  return UsageError("{}: expected 0 to {:.0f}, got {}", option, max, value);
}

void WaitUntil(Clock::time_point time) {
  std::this_thread::sleep_until(time - kWakingTime);
  while (Clock::now() < time) std::this_thread::yield();
}

// Runs at the end of a barrier's phase.
struct TakeTime {
  Clock::time_point* time;
  void operator()() noexcept { *time = Clock::now(); }
};

// The measured runs of a stream.
struct alignas(kCacheLineBytes) StreamLog {
  std::vector<double> latencies_ms;
  Clock::time_point end;  // of the last run
};

// Several streams that run at once.
class Streams {
 public:
  Streams(std::span<const std::function<Status()>> streams, const BenchLoad& load)
      : streams_(streams),
        load_(load),
        arrivals_(load.rate > 0 ? CountArrivals(load) : 0),
        warm_(std::ssize(streams), TakeTime{&start_}),
        logs_(streams.size()) {}

  StatusOr<LoadResult> Run() {
    std::latch all_started(1);
    std::vector<std::thread> threads;
    bool started = true;
    for (size_t i = 1; i < streams_.size() && started; ++i) {
      std::optional<std::thread> thread = StartThread([this, i, &all_started, &started] {
        all_started.wait();
        if (started) RunStream(i);
      });
      started = thread.has_value();
      if (started) threads.push_back(*std::move(thread));
    }
    all_started.count_down();
    if (started) RunStream(0);
    for (std::thread& thread : threads) thread.join();
    if (!started) {
      return absl::ResourceExhaustedError(fmt::format(
          "the system has no thread for stream {} of {}", threads.size() + 2, streams_.size()));
    }
    TCC_RETURN_IF_ERROR(failure_);
    return Collected();
  }

 private:
  void RunStream(size_t stream) {
    Keep(WarmUp(stream));
    warm_.arrive_and_wait();
    while (!failed_ && TakeRun(stream)) {
    }
  }

  // Keeps the first failure, which ends all streams.
  void Keep(const Status& status) {
    if (status.ok()) return;
    std::lock_guard lock(failure_mutex_);
    failure_.Update(status);
    failed_ = true;
  }

  Status WarmUp(size_t stream) {
    if (load_.warm_up_ms <= 0) return OkStatus();
    Stopwatch stopwatch;
    for (int i = 0; i < kWarmUpRuns || stopwatch.Seconds() * 1e3 < load_.warm_up_ms; ++i) {
      if (failed_) return OkStatus();
      TCC_RETURN_IF_ERROR(streams_[stream]());
    }
    return OkStatus();
  }

  // Makes the next run of the load. Returns false when the load has ended.
  bool TakeRun(size_t stream) {
    StreamLog& log = logs_[stream];
    int64_t run = next_++;
    Clock::time_point begin = Clock::now();
    if (load_.rate > 0) {
      if (run >= arrivals_) return false;
      begin =
          start_ + std::chrono::duration_cast<Clock::duration>(Seconds(ArrivalSeconds(load_, run)));
      WaitUntil(begin);
    } else {
      bool long_enough = Seconds(log.end - start_).count() >= load_.duration_seconds;
      if (run >= load_.iterations && long_enough && !log.latencies_ms.empty()) return false;
    }
    Status status = streams_[stream]();
    log.end = Clock::now();
    if (status.ok()) log.latencies_ms.push_back(Seconds(log.end - begin).count() * 1e3);
    Keep(status);
    return true;
  }

  LoadResult Collected() const {
    LoadResult result;
    Clock::time_point end = start_;
    for (const StreamLog& log : logs_) {
      result.runs.push_back(std::ssize(log.latencies_ms));
      result.latencies_ms.insert(result.latencies_ms.end(), log.latencies_ms.begin(),
                                 log.latencies_ms.end());
      end = std::max(end, log.end);
    }
    std::ranges::sort(result.latencies_ms);
    result.seconds = Seconds(end - start_).count();
    // No more are served in a time than arrive in it.
    if (load_.rate > 0) result.seconds = std::max(result.seconds, ArrivalSeconds(load_, arrivals_));
    return result;
  }

  std::span<const std::function<Status()>> streams_;
  const BenchLoad& load_;
  const int64_t arrivals_;
  Clock::time_point start_;  // of measuring, when all streams are warm
  std::barrier<TakeTime> warm_;
  std::atomic<int64_t> next_ = 0;
  std::vector<StreamLog> logs_;
  std::mutex failure_mutex_;
  Status failure_;
  std::atomic<bool> failed_ = false;
};

}  // namespace

Status CheckLoad(const BenchLoad& load) {
  TCC_RETURN_IF_ERROR(CheckNumber("--warm-up", load.warm_up_ms, kMaxWarmUpMs));
  TCC_RETURN_IF_ERROR(CheckNumber("--duration", load.duration_seconds, kMaxDuration));
  return CheckNumber("--rate", load.rate, kMaxRate);
}

int64_t CountArrivals(const BenchLoad& load) {
  auto in_time = static_cast<int64_t>(std::ceil(load.duration_seconds * load.rate));
  return std::max(load.iterations, in_time);
}

double ArrivalSeconds(const BenchLoad& load, int64_t request) {
  return static_cast<double>(request) / load.rate;
}

double LoadResult::Throughput() const {
  return seconds > 0 ? static_cast<double>(latencies_ms.size()) / seconds : 0;
}

StatusOr<LoadResult> RunLoad(std::span<const std::function<Status()>> streams,
                             const BenchLoad& load) {
  return Streams(streams, load).Run();
}

}  // namespace tcc
