#pragma once

#include <string>
#include <vector>

#include "runtime/executor.h"

namespace tcc {

// A call of a kernel in one run of a model.
struct ProfiledCall {
  size_t kernel = 0;    // of the metadata's
  double start_us = 0;  // since the run began
  double microseconds = 0;
};

struct Profile {
  // How it was measured: "CUPTI", "events, kernel by kernel (WHY)", "the CPU's clock".
  std::string timer;
  double peak_gflops = 0;  // of float32, on the device or the threads of the pool
  std::vector<std::vector<ProfiledCall>> runs;
};

// All kernels of a model in one run.
struct KernelTime {
  double seconds = 0;
  int64_t calls = 0;
};

// Runs the model `runs` times and times every call of a kernel. On a GPU CUPTI looks on while the
// model runs as ever; where it cannot, kernels are launched one by one between events. On a CPU the
// calls are timed by the clock.
StatusOr<Profile> ProfileRuns(Executor& executor, const std::function<Status()>& run, int runs);

// Of each kernel, by its place in the metadata, in the run where it was fastest.
std::vector<KernelTime> FastestTimes(const Profile& profile, size_t kernels);

// The last run in the format of Chrome's tracing (chrome://tracing, Perfetto).
std::string ChromeTrace(const Profile& profile, const Metadata& metadata);

}  // namespace tcc
