#include "cli/profile.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/cuda_device.h"
#include "runtime/cuda_program.h"
#include "runtime/cupti_recording.h"
#include "runtime/fma_peak.h"

namespace tcc {
namespace {

using Clock = std::chrono::steady_clock;
using Calls = std::vector<ProfiledCall>;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// What a call hook sees. On a device the calls are laid end to end: the gaps between them are the
// host's, which waits for each.
Status RunWithHook(Executor& executor, const std::function<Status()>& run, int runs, bool on_cpu,
                   Profile& profile) {
  Calls calls;
  Clock::time_point start;
  double end = 0;
  executor.set_call_hook([&](size_t kernel, double seconds) {
    double begin = on_cpu ? MicrosecondsSince(start) - seconds * 1e6 : end;
    calls.push_back({kernel, begin, seconds * 1e6});
    end = begin + seconds * 1e6;
  });
  Status status;
  for (int i = 0; i < runs && status.ok(); ++i) {
    calls.clear();
    end = 0;
    start = Clock::now();
    status = run();
    profile.runs.push_back(calls);
  }
  executor.set_call_hook({});
  return status;
}

// The kernels of the metadata by the names of their launches.
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

// Launches of one kernel that follow each other are one call.
Calls CallsOf(const std::vector<KernelActivity>& activities,
              const std::map<std::string, size_t>& by_symbol, const Module& module) {
  Calls calls;
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  size_t launches = 0;  // of the call at hand
  for (const KernelActivity& activity : activities) {
    auto found = by_symbol.find(activity.symbol);
    if (found == by_symbol.end()) continue;  // another library's
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

double CpuPeakGflops(ThreadPool& pool) {
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    Clock::time_point start = Clock::now();
    double operations = RunFmaLoop(pool);
    best = std::max(best, operations / MicrosecondsSince(start) * 1e-3);
  }
  return best;
}

}  // namespace

StatusOr<Profile> ProfileRuns(Executor& executor, const std::function<Status()>& run, int runs) {
  const Module& module = executor.module();
  Profile profile;
  if (module.artefact().device != "cuda") {
    profile.timer = "the CPU's clock";
    if (module.artefact().device == "cpu") profile.peak_gflops = CpuPeakGflops(*module.pool());
    TCC_RETURN_IF_ERROR(RunWithHook(executor, run, runs, true, profile));
    return profile;
  }
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  profile.peak_gflops = PeakGflops(program->context()->device());
  profile.timer = "CUPTI";
  Status recorded = RunWithCupti(module, run, runs, profile);
  if (recorded.ok()) return profile;
  profile.runs.clear();
  profile.timer = fmt::format("events, kernel by kernel ({})", Message(recorded));
  TCC_RETURN_IF_ERROR(RunWithHook(executor, run, runs, false, profile));
  return profile;
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

std::string ChromeTrace(const Profile& profile, const Metadata& metadata) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  if (!profile.runs.empty()) {
    for (const ProfiledCall& call : profile.runs.back()) {
      const KernelInfo& kernel = metadata.kernels[call.kernel];
      events.push_back({{"name", kernel.name},
                        {"cat", "kernel"},
                        {"ph", "X"},
                        {"ts", call.start_us},
                        {"dur", call.microseconds},
                        {"pid", 0},
                        {"tid", 0},
                        {"args", {{"nodes", kernel.nodes}, {"flops", kernel.flops}}}});
    }
  }
  nlohmann::ordered_json trace = {
      {"traceEvents", events},
      {"displayTimeUnit", "ms"},
      {"otherData", {{"model", metadata.model}, {"timer", profile.timer}}}};
  return trace.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tcc
