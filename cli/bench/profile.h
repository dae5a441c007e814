#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/kernel_bound.h"
#include "runtime/executor/executor.h"

namespace tcc {

// A call of a kernel in one run of a model.
struct ProfiledCall {
  size_t kernel = 0;    // its place in the metadata
  double start_us = 0;  // since the run began
  double microseconds = 0;
};

// All launches of a kernel in one run: sums, and means weighted by their time under the counters.
struct KernelCounters {
  double read_bytes = 0, written_bytes = 0;  // of the device's memory
  // LaunchCounters says what the percentages are of (runtime/cupti/cupti_counters.h). NaN where it
  // is NaN for every launch: a share of nothing.
  double l2_hit_percent = 0, occupancy_percent = 0, tensor_percent = 0, fma_percent = 0;
};

struct Profile {
  // The way of measuring: "CUPTI", "events, kernel by kernel", with why not by CUPTI where that may
  // be, "the CPU's clock".
  std::string timer;
  DevicePeaks peaks;  // the most of several measurements, from before the runs to after them
  std::vector<std::vector<ProfiledCall>> runs;
  // The counters by the place of a kernel in the metadata; nullopt for one that did not run. Empty
  // where nobody has asked for counters, or for the reason in counters_missing.
  std::vector<std::optional<KernelCounters>> counters;
  std::string counters_missing;
};

// The time and calls of a kernel in one run.
struct KernelTime {
  double seconds = 0;
  int64_t calls = 0;
};

// Runs the model `runs` times and times every call of a kernel. On CUDA, CUPTI records while the
// model runs as usual; where it cannot, and on OpenCL, kernels are launched one by one between
// events. On a CPU the calls are timed by the clock.
StatusOr<Profile> ProfileRuns(Executor& executor, const std::function<Status()>& run, int runs);
// Adds runs to a profile, timed in its way, or in the first that works if it has none.
Status AddProfiledRuns(Executor& executor, const std::function<Status()>& run, int runs,
                       Profile& profile);

// Makes one more run, under a GPU's counters, for a profile that ProfileRuns has made. Times stay
// as they are; where counters cannot be read, `profile` says why. Error: the run's.
Status CountKernels(Executor& executor, const std::function<Status()>& run, Profile& profile);

// A part of a loop of a call, on a thread of the pool.
struct ProfiledPart {
  size_t call = 0;  // its place in the run
  int thread = 0;   // 0: the one that calls
  double start_us = 0;
  double microseconds = 0;
  int64_t begin = 0, end = 0;
};

struct TracedRun {
  std::vector<ProfiledCall> calls;
  std::vector<ProfiledPart> parts;  // on a CPU; in order on each thread
  int threads = 1;                  // of the pool on a CPU
};

// Makes one more run of a model on a CPU and notes which thread ran what of it; on another device
// returns the profile's last run. Error: the run's.
StatusOr<TracedRun> TraceRun(Executor& executor, const std::function<Status()>& run,
                             const Profile& profile);

// Returns the time of each kernel in the run where it was fastest, by its place in the metadata.
std::vector<KernelTime> FastestTimes(const Profile& profile, size_t kernels);

// Returns the counters as JSON, with null for NaN.
nlohmann::ordered_json CountersJson(const KernelCounters& counters);

}  // namespace tcc
