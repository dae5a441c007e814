#include "bench/schedules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/cpu/compiled_kernel.h"
#include "bench/cpu/kernel_race.h"
#include "bench/cpu/kernel_suite.h"
#include "bench/cpu/peers.h"
#include "bench/write_text.h"
#include "schedule/sketches/parts/sketch.h"
#include "support/status.h"

namespace tcc {
namespace {

// The result of a kernel on so many threads.
struct KernelResult {
  std::string kernel;
  int threads = 1;
  double flops = 0;  // 0 if they do not measure the work
  double microseconds = 0;
  double peak_gflops = 0;                             // of all threads, in the same minutes
  std::vector<std::pair<std::string, double>> peers;  // microseconds

  std::optional<double> PercentOfPeak() const;
};

double PeerMicroseconds(const KernelResult& row, std::string_view peer) {
  for (const auto& [name, microseconds] : row.peers) {
    if (name == peer) return microseconds;
  }
  return 0;
}

nlohmann::json ToJson(const std::vector<KernelResult>& rows) {
  nlohmann::json result = nlohmann::json::array();
  for (const KernelResult& row : rows) {
    nlohmann::json entry = {{"name", row.kernel},
                            {"threads", row.threads},
                            {"flops", row.flops},
                            {"ours_us", row.microseconds},
                            {"peak_gflops", row.peak_gflops},
                            {"percent_of_peak", nullptr},
                            {"peer", nullptr},
                            {"peer_us", nullptr},
                            {"ratio", nullptr}};
    if (std::optional<double> percent = row.PercentOfPeak()) entry["percent_of_peak"] = *percent;
    if (row.peers.empty()) result.push_back(entry);
    for (const auto& [peer, microseconds] : row.peers) {
      entry["peer"] = peer;
      entry["peer_us"] = microseconds;
      entry["ratio"] = row.microseconds / microseconds;
      result.push_back(entry);
    }
  }
  return result;
}

std::optional<double> KernelResult::PercentOfPeak() const {
  if (flops == 0) return std::nullopt;
  return flops / microseconds / 1e3 / peak_gflops * 100;
}

// Print a table, row by row. A ratio is our time to the peer's.
void PrintHeader() {
  fmt::print("{:<22} {:>2} {:>10} {:>9} {:>7}", "kernel", "T", "us", "GFLOP/s", "% peak");
  for (const Peer& peer : Peers()) {
    fmt::print(" {:>12} {:>6}", std::string(peer.name) + " us", "ratio");
  }
  fmt::print("\n");
}

void PrintRow(const KernelResult& row) {
  fmt::print("{:<22} {:>2} {:>10.1f}", row.kernel, row.threads, row.microseconds);
  if (std::optional<double> percent = row.PercentOfPeak()) {
    fmt::print(" {:>9.1f} {:>7.1f}", row.flops / row.microseconds / 1e3, *percent);
  } else {
    fmt::print(" {:>9} {:>7}", "-", "-");
  }
  for (const Peer& peer : Peers()) {
    double microseconds = PeerMicroseconds(row, peer.name);
    if (microseconds > 0) {
      fmt::print(" {:>12.1f} {:>6.2f}", microseconds, row.microseconds / microseconds);
    } else {
      fmt::print(" {:>12} {:>6}", peer.is_present() ? "-" : "absent", "-");
    }
  }
  fmt::print("\n");
  std::fflush(stdout);
}

// Writes a JSON list with an entry per result and peer, to stdout where `path` is empty.
Status WriteJson(const std::vector<KernelResult>& rows, const std::string& path) {
  return WriteText(ToJson(rows).dump(2) + "\n", path);
}

StatusOr<Schedule> ReadSchedule(const std::string& path) {
  std::ifstream file(path);
  if (!file) return InvalidInput("cannot read '{}'", path);
  std::ostringstream text;
  text << file.rdbuf();
  StatusOr<Schedule> schedule = ParseSchedule(text.str());
  if (!schedule.ok()) return Annotate(schedule.status(), path);
  return schedule;
}

// Returns the folder of the hand-written schedules for this CPU: made for 32 vector registers of 16
// lanes, or for 16 of 8.
std::string FolderOfTraces(const Target& target) {
  bool is_avx512 = target.vector_bytes >= 64;
  return std::string(TCC_BENCH_TRACES) + (is_avx512 ? "/x86-64-v4" : "/x86-64-v3");
}

// Returns the schedule that the options choose for `fn`: a trace where the suite has them, else the
// first sketch.
StatusOr<Schedule> ScheduleFor(const Function& fn, const ScheduleSuiteOptions& options) {
  if (!options.trace.empty()) return ReadSchedule(options.trace);
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  if (options.suite == "traces" && !options.sketch) {
    return ReadSchedule(options.traces.value_or(FolderOfTraces(target)) + "/" + fn.name + ".trace");
  }
  std::vector<Sketch> sketches = GenerateSketches(fn, target);
  size_t number = options.sketch.value_or(0);
  if (number >= sketches.size()) {
    return UsageError("{} has {} sketches", fn.name, sketches.size());
  }
  const Sketch& sketch = sketches[number];
  return Schedule{sketch.trace, sketch.start, 0};
}

Status PrintStage(const BenchKernel& kernel, const ScheduleSuiteOptions& options) {
  Function fn = TensorFunction(kernel);
  TCC_ASSIGN_OR_RETURN(Schedule schedule, ScheduleFor(fn, options));
  if (options.stage == "schedule") {
    fmt::print("# {}\n{}", fn.name, Print(schedule));
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(std::string text, KernelStage(fn, schedule, options.stage));
  fmt::print("{}\n", text);
  return OkStatus();
}

StatusOr<std::vector<KernelResult>> MeasureKernel(const BenchKernel& kernel,
                                                  const ScheduleSuiteOptions& options) {
  std::string name(kernel.name);
  TCC_ASSIGN_OR_RETURN(Schedule schedule, ScheduleFor(TensorFunction(kernel), options));
  TCC_ASSIGN_OR_RETURN(KernelCase example, KernelCase::Create(kernel));
  StatusOr<BenchedKernel> ours = BenchedKernel::Create(example.fn(), schedule, example.arguments());
  if (!ours.ok()) return Annotate(ours.status(), name);
  Racer racer{"the schedule", *ours};
  std::vector<KernelResult> results;
  for (int threads : options.threads) {
    TCC_ASSIGN_OR_RETURN(
        RaceTimes times,
        RunRace(kernel, example, {&racer, 1},
                {.threads = threads, .peers = options.peers, .rounds = options.rounds}));
    results.push_back({name, threads, NominalFlops(kernel), times.ours[0], times.peak_gflops,
                       std::move(times.peers)});
  }
  return results;
}

}  // namespace

Status RunScheduleSuite(const ScheduleSuiteOptions& options) {
  if (!options.trace.empty() && options.kernel.empty()) {
    return UsageError("--trace needs --kernel");
  }
  if (options.traces && options.suite != "traces") {
    return UsageError("--traces is for suite traces, not {}", options.suite);
  }
  TCC_RETURN_IF_ERROR(ExpectPeers(options.peers));
  bool as_text = options.json != "" && options.stage.empty();
  bool found = false;
  std::vector<KernelResult> results;
  if (as_text) PrintHeader();
  for (const BenchKernel& kernel : KernelSuite(options.suite)) {
    if (!options.kernel.empty() && kernel.name != options.kernel) continue;
    found = true;
    if (!options.stage.empty()) {
      TCC_RETURN_IF_ERROR(PrintStage(kernel, options));
      continue;
    }
    TCC_ASSIGN_OR_RETURN(std::vector<KernelResult> measured, MeasureKernel(kernel, options));
    if (as_text) std::ranges::for_each(measured, PrintRow);
    results.insert(results.end(), measured.begin(), measured.end());
  }
  if (!found) return UsageError("no kernel '{}' in suite '{}'", options.kernel, options.suite);
  return options.json ? WriteJson(results, *options.json) : OkStatus();
}

}  // namespace tcc
