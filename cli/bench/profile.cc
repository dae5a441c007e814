#include "cli/bench/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "runtime/artefact/artefact_device.h"
#include "runtime/cpu/cpu_rates.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_program.h"
#include "runtime/cupti/cupti_counters.h"
#include "runtime/cupti/cupti_recording.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

constexpr char kCuptiTimer[] = "CUPTI";
constexpr char kEventTimer[] = "events, kernel by kernel";
// The parts of the runs of a profile. The peaks are measured before and after each: on a machine
// that is busy with something else, both the runs and the peaks need a moment when it is not.
constexpr int kParts = 4;

using Calls = std::vector<ProfiledCall>;
using Clock = std::chrono::steady_clock;

// Profiles with a call hook. On a device the calls are laid end to end: the gaps between them are
// the host's, which waits for each. A kernel that is simulated takes what its simulator says.
Status RunWithHook(Executor& executor, const std::function<Status()>& run, int runs, bool on_cpu,
                   Profile& profile) {
  Calls calls;
  Stopwatch stopwatch;
  double end = 0;
  const Module& module = executor.module();
  executor.set_call_hook([&](const EndedCall& ended) {
    const double seconds = module.device()
                               .SimulatedSeconds(module.kernels(), ended.call.kernel)
                               .value_or(ended.seconds);
    double begin = on_cpu ? (stopwatch.Seconds() - ended.seconds) * 1e6 : end;
    calls.push_back({ended.call.kernel, begin, seconds * 1e6});
    end = begin + seconds * 1e6;
  });
  Status status;
  for (int i = 0; i < runs && status.ok(); ++i) {
    calls.clear();
    end = 0;
    stopwatch = Stopwatch();
    status = run();
    profile.runs.push_back(calls);
  }
  executor.set_call_hook({});
  return status;
}

// Returns the kernels of the metadata by the symbols of their launches.
std::map<std::string, size_t> KernelsBySymbol(const Module& module) {
  std::map<std::string, size_t> kernels;
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  for (size_t i = 0; i < program->kernels().size(); ++i) {
    for (const GpuLaunch& launch : program->kernels()[i].launches) {
      kernels.emplace(launch.symbol, i);
    }
  }
  return kernels;
}

// Turns launches into calls. Launches of one kernel that follow each other are one call.
Calls CallsOf(const std::vector<KernelActivity>& activities,
              const std::map<std::string, size_t>& by_symbol, const Module& module) {
  Calls calls;
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  size_t launches = 0;  // of the current call
  for (const KernelActivity& activity : activities) {
    auto found = by_symbol.find(activity.symbol);
    if (found == by_symbol.end()) continue;  // a kernel of another library
    double start = static_cast<double>(activity.start_ns - activities[0].start_ns) * 1e-3;
    double taken = static_cast<double>(activity.end_ns - activity.start_ns) * 1e-3;
    bool goes_on = launches > 0 && calls.back().kernel == found->second &&
                   launches < program->kernels()[found->second].launches.size();
    launches = goes_on ? launches + 1 : 1;
    if (goes_on) {
      calls.back().microseconds += taken;
    } else {
      calls.push_back({found->second, start, taken});
    }
  }
  return calls;
}

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// Adds a call that has ended, with the parts of its loops, which it takes. The call's own time is
// read after its parts and is a little late: the call begins with its first part at the latest.
void AddCall(size_t kernel, double begin, double microseconds,
             std::vector<std::vector<ObservedRange>>& parts, Clock::time_point start,
             TracedRun& traced) {
  const double end = begin + microseconds;
  for (std::vector<ObservedRange>& of_thread : parts) {
    for (const ObservedRange& part : of_thread) {
      double part_begin = Microseconds(part.start - start);
      begin = std::min(begin, part_begin);
      traced.parts.push_back({.call = traced.calls.size(),
                              .thread = part.thread,
                              .start_us = part_begin,
                              .microseconds = Microseconds(part.stop - part.start),
                              .begin = part.begin,
                              .end = part.end});
    }
    of_thread.clear();
  }
  traced.calls.push_back({kernel, begin, end - begin});
}

Status RunWithCupti(const Module& module, const std::function<Status()>& run, int runs,
                    Profile& profile) {
  std::map<std::string, size_t> by_symbol = KernelsBySymbol(module);
  for (int i = 0; i < runs; ++i) {
    TCC_ASSIGN_OR_RETURN(std::unique_ptr<CuptiRecording> recording, CuptiRecording::Start());
    TCC_RETURN_IF_ERROR(run());
    TCC_ASSIGN_OR_RETURN(std::vector<KernelActivity> activities, recording->Stop());
    profile.runs.push_back(CallsOf(activities, by_symbol, module));
    if (profile.runs.back().empty()) return Missing("CUPTI has recorded no kernel of the model");
  }
  return OkStatus();
}

// Measures the peaks on the threads of the pool; memory by copies larger than caches.
DevicePeaks CpuPeaks(ThreadPool& pool) {
  constexpr size_t kCopiedBytes = size_t{64} << 20;
  constexpr int kFmaLoops = 20, kCopies = 5;
  const std::vector<uint8_t> from(kCopiedBytes, 1);
  std::vector<uint8_t> to(kCopiedBytes);
  auto pieces = static_cast<int64_t>(pool.threads());
  const int64_t piece = std::ssize(to) / pieces;
  DevicePeaks peaks;
  for (int i = 0; i < kFmaLoops; ++i) {
    Stopwatch stopwatch;
    double operations = RunFmaLoop(pool);
    peaks.fma_gflops = std::max(peaks.fma_gflops, operations / stopwatch.Seconds() * 1e-9);
  }
  for (int i = 0; i < kCopies; ++i) {
    Stopwatch stopwatch;
    pool.ParallelFor(pieces, [&](int64_t begin, int64_t end) {
      std::memcpy(to.data() + begin * piece, from.data() + begin * piece,
                  static_cast<size_t>((end - begin) * piece));
    });
    double moved = 2 * static_cast<double>(pieces * piece);
    peaks.memory_gbytes = std::max(peaks.memory_gbytes, moved / stopwatch.Seconds() * 1e-9);
  }
  return peaks;
}

DevicePeaks GpuPeaks(const CudaContext& context) {
  CudaPeaks of_device = PeaksOf(context.driver(), context.device());
  DevicePeaks peaks{.fma_gflops = of_device.fma_gflops,
                    .mma_gflops = {of_device.mma_gflops.begin(), of_device.mma_gflops.end()},
                    .memory_gbytes = of_device.memory_gbytes};
  return peaks;
}

DevicePeaks PeaksOfDevice(const Module& module) {
  const std::string& device = module.artefact().device;
  if (device == "cpu") return CpuPeaks(*module.pool());
  if (device != "cuda") return {};
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  return GpuPeaks(*program->context());
}

// Raises the peaks to what the device reaches now.
void RaisePeaks(const Module& module, DevicePeaks& peaks) {
  DevicePeaks now = PeaksOfDevice(module);
  now.fma_gflops = std::max(now.fma_gflops, peaks.fma_gflops);
  now.memory_gbytes = std::max(now.memory_gbytes, peaks.memory_gbytes);
  peaks = std::move(now);
}

// Returns the most launches of a call of a kernel. A launch whose grid is always empty does not
// count.
size_t MostLaunchesOf(const GpuKernel& kernel) {
  auto may_have_blocks = [](const GpuLaunch& launch) {
    return std::ranges::none_of(launch.grid, [](const SizeExpr& e) { return e.AsConstant() == 0; });
  };
  return static_cast<size_t>(std::ranges::count_if(kernel.launches, may_have_blocks));
}

// Returns the most launches of a run, from the last run of the profile.
size_t MostLaunchesOf(const Profile& profile, const CudaProgram& program) {
  size_t launches = 0;
  if (profile.runs.empty()) return launches;
  for (const ProfiledCall& call : profile.runs.back()) {
    launches += MostLaunchesOf(program.kernels()[call.kernel]);
  }
  return launches;
}

// Returns the number of launches of a call of a kernel with these shapes, which has run. Launches
// with an empty grid do not count.
size_t LaunchesOf(const GpuKernel& kernel, std::span<const int64_t> shape_args) {
  auto has_blocks = [&](const GpuLaunch& launch) {
    return std::ranges::none_of(
        launch.grid, [&](const SizeExpr& e) { return Evaluate(e, shape_args).value_or(0) == 0; });
  };
  return static_cast<size_t>(std::ranges::count_if(kernel.launches, has_blocks));
}

// The mean of a counter over the launches of a kernel, weighted by their time. A launch for which
// it is no number (a share of nothing) is left out.
class WeightedMean {
 public:
  void Add(double value, double weight) {
    if (std::isnan(value) || std::isnan(weight)) return;
    sum_ += value * weight;
    weight_ += weight;
  }
  // Returns NaN if there was no value.
  double Value() const { return sum_ / weight_; }

 private:
  double sum_ = 0, weight_ = 0;
};

std::vector<std::optional<KernelCounters>> Collected(const std::vector<LaunchCounters>& launches,
                                                     const std::vector<size_t>& kernel_of_launch,
                                                     size_t kernels) {
  struct Means {
    WeightedMean l2_hit, occupancy, tensor, fma;
  };
  std::vector<std::optional<KernelCounters>> counters(kernels);
  std::vector<Means> means(kernels);
  for (size_t i = 0; i < launches.size(); ++i) {
    const LaunchCounters& launch = launches[i];
    size_t k = kernel_of_launch[i];
    if (!counters[k]) counters[k].emplace();
    counters[k]->read_bytes += launch.read_bytes;
    counters[k]->written_bytes += launch.written_bytes;
    means[k].l2_hit.Add(launch.l2_hit_percent, launch.nanoseconds);
    means[k].occupancy.Add(launch.occupancy_percent, launch.nanoseconds);
    means[k].tensor.Add(launch.tensor_percent, launch.nanoseconds);
    means[k].fma.Add(launch.fma_percent, launch.nanoseconds);
  }
  for (size_t k = 0; k < kernels; ++k) {
    if (!counters[k]) continue;
    counters[k]->l2_hit_percent = means[k].l2_hit.Value();
    counters[k]->occupancy_percent = means[k].occupancy.Value();
    counters[k]->tensor_percent = means[k].tensor.Value();
    counters[k]->fma_percent = means[k].fma.Value();
  }
  return counters;
}

}  // namespace

StatusOr<TracedRun> TraceRun(Executor& executor, const std::function<Status()>& run,
                             const Profile& profile) {
  const Module& module = executor.module();
  TracedRun traced;
  if (module.artefact().device != "cpu") {
    if (!profile.runs.empty()) traced.calls = profile.runs.back();
    return traced;
  }
  ThreadPool& pool = *module.pool();
  traced.threads = pool.threads();
  std::vector<std::vector<ObservedRange>> parts(static_cast<size_t>(traced.threads));
  pool.set_observer(
      [&](const ObservedRange& part) { parts[static_cast<size_t>(part.thread)].push_back(part); });
  const Clock::time_point start = Clock::now();
  executor.set_call_hook([&](const EndedCall& ended) {
    double microseconds = ended.seconds * 1e6;
    double begin = Microseconds(Clock::now() - start) - microseconds;
    AddCall(ended.call.kernel, begin, microseconds, parts, start, traced);
  });
  Status status = run();
  executor.set_call_hook({});
  pool.set_observer({});
  if (!status.ok()) return status;
  return traced;
}

Status AddProfiledRuns(Executor& executor, const std::function<Status()>& run, int runs,
                       Profile& profile) {
  const Module& module = executor.module();
  const std::string& device = module.artefact().device;
  const bool on_gpu = IsGpuDevice(device);
  if (profile.timer.empty()) {
    profile.timer = device == "cuda" ? kCuptiTimer : on_gpu ? kEventTimer : "the CPU's clock";
  }
  if (profile.timer == kCuptiTimer) {
    const size_t before = profile.runs.size();
    Status recorded = RunWithCupti(module, run, runs, profile);
    if (recorded.ok()) return recorded;
    profile.runs.resize(before);
    profile.timer = fmt::format("{} ({})", kEventTimer, Message(recorded));
  }
  return RunWithHook(executor, run, runs, !on_gpu, profile);
}

StatusOr<Profile> ProfileRuns(Executor& executor, const std::function<Status()>& run, int runs) {
  Profile profile;
  RaisePeaks(executor.module(), profile.peaks);
  const int part = (runs + kParts - 1) / kParts;
  for (int done = 0; done < runs; done += part) {
    TCC_RETURN_IF_ERROR(AddProfiledRuns(executor, run, std::min(part, runs - done), profile));
    RaisePeaks(executor.module(), profile.peaks);
  }
  return profile;
}

Status CountKernels(Executor& executor, const std::function<Status()>& run, Profile& profile) {
  const Module& module = executor.module();
  if (module.artefact().device != "cuda") {
    profile.counters_missing = "they are read of NVIDIA's GPUs alone";
    return OkStatus();
  }
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  size_t most_launches = MostLaunchesOf(profile, *program);
  if (most_launches == 0) {
    profile.counters_missing = "the model launches no kernel";
    return OkStatus();
  }
  // With a hook, kernels are launched one by one.
  std::vector<size_t> launched;  // the kernel of each launch
  executor.set_call_hook([&](const EndedCall& ended) {
    const size_t kernel = ended.call.kernel;
    launched.insert(launched.end(),
                    LaunchesOf(program->kernels()[kernel], ended.arguments.shape_args), kernel);
  });
  CudaScope scope(*program->context());
  Status ran = scope.status();
  StatusOr<std::vector<LaunchCounters>> counted =
      CountLaunches(*program->context(), most_launches, [&] {
        ran.Update(run());
        return ran;
      });
  executor.set_call_hook({});
  TCC_RETURN_IF_ERROR(ran);
  if (!counted.ok()) {
    profile.counters_missing = Message(counted.status());
  } else if (counted->size() != launched.size()) {
    profile.counters_missing = fmt::format("CUPTI counted {} launches of kernels; expected {}",
                                           counted->size(), launched.size());
  } else {
    profile.counters = Collected(*counted, launched, program->kernels().size());
  }
  return OkStatus();
}

std::vector<KernelTime> FastestTimes(const Profile& profile, size_t kernels) {
  std::vector<KernelTime> best(kernels);
  for (size_t r = 0; r < profile.runs.size(); ++r) {
    std::vector<KernelTime> run(kernels);
    for (const ProfiledCall& call : profile.runs[r]) {
      run[call.kernel].seconds += call.microseconds * 1e-6;
      ++run[call.kernel].calls;
    }
    for (size_t k = 0; k < kernels; ++k) {
      if (r == 0 || run[k].seconds < best[k].seconds) best[k] = run[k];
    }
  }
  return best;
}

nlohmann::ordered_json CountersJson(const KernelCounters& counters) {
  return {{"dram_read_bytes", counters.read_bytes},
          {"dram_written_bytes", counters.written_bytes},
          {"l2_hit_percent", counters.l2_hit_percent},
          {"occupancy_percent", counters.occupancy_percent},
          {"tensor_percent", counters.tensor_percent},
          {"fma_percent", counters.fma_percent}};
}

}  // namespace tcc
