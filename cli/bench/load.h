#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "support/status.h"

// Puts a model under load: several streams that run it at once, one run after the other or as
// requests arrive.
namespace tcc {

struct BenchLoad {
  double warm_up_ms = 200;      // of each stream, and at least 3 runs; 0: none
  int64_t iterations = 50;      // the least number of measured runs of all streams together
  double duration_seconds = 0;  // the least time that they take
  // Requests that arrive in a second, at equal distances, and wait for a free stream. 0: a stream's
  // next run begins when its last one has ended.
  double rate = 0;
};

// Fails with FailedPrecondition, naming the option, where a number is out of its range.
Status CheckLoad(const BenchLoad& load);

// Returns how many requests arrive. Expects a rate.
int64_t CountArrivals(const BenchLoad& load);
// Returns the seconds from the first request to this one, which is counted from 0.
double ArrivalSeconds(const BenchLoad& load, int64_t request);

struct LoadResult {
  std::vector<double> latencies_ms;  // of the runs, ascending; from a request's arrival
  std::vector<int64_t> runs;         // by stream
  // From the first run's beginning to the last one's end; with a rate at least until one more
  // request would arrive.
  double seconds = 0;

  double Throughput() const;  // runs a second
};

// Runs each stream on a thread of its own, the first on the caller's. All begin to measure at once,
// and each measures at least one run unless requests arrive. Fails with the first failure of a run;
// ResourceExhausted where the system has no thread for a stream.
StatusOr<LoadResult> RunLoad(std::span<const std::function<Status()>> streams,
                             const BenchLoad& load);

}  // namespace tcc
