#include "bench/tuned_suites.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "bench/cpu/compiled_kernel.h"
#include "bench/cpu/kernel_operator.h"
#include "bench/cpu/kernel_race.h"
#include "bench/cpu/kernel_suite.h"
#include "bench/tuned_report.h"
#include "bench/write_text.h"
#include "compiler/measured_device.h"
#include "compiler/tune_graph.h"
#include "runtime/executor/usable_cpus.h"
#include "search/database/database_report.h"

namespace tcc {
namespace {

void Warn(const std::string& message) {
  fmt::print(stderr, "tcc-bench: {}\n", message);
}

struct SuiteKernel {
  std::string suite;
  BenchKernel kernel;
};

std::vector<SuiteKernel> KernelsOf(const TunedSuitesOptions& options) {
  std::vector<SuiteKernel> kernels;
  for (const std::string& suite : options.suites) {
    for (const BenchKernel& kernel : KernelSuite(suite)) {
      bool chosen = options.kernel.empty() || kernel.name == options.kernel;
      if (chosen) kernels.push_back({suite, kernel});
    }
  }
  return kernels;
}

// The part of a database that is about kernels on so many threads of this CPU.
struct KnownSchedules {
  std::string path;
  int threads = 1;
  std::vector<BestRow> rows = {};  // of this environment, under any policy of timing
  TunedSchedules best = {};

  bool HasMeasured(const std::string& key) const {
    return std::ranges::any_of(
        rows, [&](const BestRow& row) { return row.workload == key && row.best_seconds > 0; });
  }
};

StatusOr<KnownSchedules> ReadSchedules(const std::string& path, const Target& target, int threads) {
  KnownSchedules known{.path = path, .threads = threads};
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Access::kRead));
  TCC_ASSIGN_OR_RETURN(known.rows, BestRowsOf(database));
  TCC_ASSIGN_OR_RETURN(Environment here, RecordedEnvironment(database, target, threads, "", Warn));
  std::erase_if(known.rows, [&](const BestRow& row) {
    const Environment& there = row.environment;
    return there.target != here.target || there.device != here.device ||
           there.measurer != here.measurer || there.threads != here.threads;
  });
  TCC_ASSIGN_OR_RETURN(known.best, ReadTunedSchedules(path, target, threads, "", Warn));
  return known;
}

// Returns the kernel as it is compiled with these schedules; none: without a search.
StatusOr<KernelStages> Scheduled(const KernelStages& unscheduled, const Target& target,
                                 const TunedSchedules& schedules) {
  KernelStages kernel = unscheduled;
  CompileOptions options{.target = target, .warn = Warn, .tuned = schedules};
  TCC_RETURN_IF_ERROR(Annotate(FinishKernel(kernel, options), kernel.symbol));
  return kernel;
}

StatusOr<BenchedKernel> Compiled(const KernelStages& kernel, const KernelCase& example) {
  return BenchedKernel::Create(kernel.tensor, kernel.schedule, example.arguments());
}

// Returns the schedule of the database, if it has one for the kernel.
TunedSchedules ScheduleOf(const KernelStages& kernel, const KnownSchedules& known) {
  std::string key = WorkloadOf(kernel).key;
  if (!known.HasMeasured(key)) {
    Warn(
        fmt::format("kernel '{}': '{}' has no measurements of it on {} threads of this CPU; its "
                    "start is taken",
                    kernel.symbol, known.path, known.threads));
    return {};
  }
  auto found = known.best.find(key);
  if (found == known.best.end()) return {};  // none that beats the start
  return {*found};
}

StatusOr<TunedResult> MeasureKernel(const SuiteKernel& chosen, const KnownSchedules& known,
                                    const Target& target, const TunedSuitesOptions& options) {
  const BenchKernel& kernel = chosen.kernel;
  TCC_ASSIGN_OR_RETURN(KernelStages unscheduled, CompilerKernelOf(kernel, target));
  TCC_ASSIGN_OR_RETURN(KernelCase example, KernelCase::Create(kernel));
  TCC_ASSIGN_OR_RETURN(KernelStages start, Scheduled(unscheduled, target, {}));
  TCC_ASSIGN_OR_RETURN(KernelStages tuned,
                       Scheduled(unscheduled, target, ScheduleOf(unscheduled, known)));
  TCC_ASSIGN_OR_RETURN(BenchedKernel start_code, Compiled(start, example));
  TCC_ASSIGN_OR_RETURN(BenchedKernel tuned_code, Compiled(tuned, example));
  std::vector<Racer> racers = {{"the start", start_code}};
  if (tuned.tuned) racers.push_back({"the tuned schedule", tuned_code});
  TCC_ASSIGN_OR_RETURN(
      RaceTimes times,
      RunRace(kernel, example, racers,
              {.threads = known.threads, .peers = options.peers, .rounds = options.rounds}));
  TunedResult result{.suite = chosen.suite,
                     .kernel = std::string(kernel.name),
                     .threads = known.threads,
                     .flops = NominalFlops(kernel),
                     .peak_gflops = times.peak_gflops,
                     .start = times.ours.front(),
                     .tuned = times.ours.back(),
                     .peers = std::move(times.peers)};
  if (tuned.tuned) {
    result.rules = tuned.sketch;
    result.variant = tuned.schedule.variant;
  }
  return result;
}

}  // namespace

Status RunTunedSuites(const TunedSuitesOptions& options) {
  std::vector<SuiteKernel> kernels = KernelsOf(options);
  if (kernels.empty()) {
    return UsageError("no kernel '{}' in suite '{}'", options.kernel,
                      fmt::join(options.suites, ","));
  }
  TCC_RETURN_IF_ERROR(ExpectPeers(options.peers));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  std::vector<int> threads = options.threads;
  if (threads.empty()) threads = {UsableCpus()};
  std::vector<KnownSchedules> by_threads;
  for (int count : threads) {
    TCC_ASSIGN_OR_RETURN(by_threads.emplace_back(), ReadSchedules(options.db, target, count));
  }
  bool as_text = options.json != "";  // else stdout is for the JSON
  if (as_text) fmt::print("{}", TunedHeader());
  std::vector<TunedResult> results;
  for (const SuiteKernel& kernel : kernels) {
    for (const KnownSchedules& known : by_threads) {
      TCC_ASSIGN_OR_RETURN(results.emplace_back(), MeasureKernel(kernel, known, target, options));
      if (as_text) fmt::print("{}", TunedRow(results.back()));
      std::fflush(stdout);
    }
  }
  if (as_text) fmt::print("{}", TunedSummary(results));
  return options.json ? WriteText(TunedJson(results), *options.json) : OkStatus();
}

}  // namespace tcc
