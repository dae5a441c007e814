// tcc-bench kernels: hand-written and tuned schedules on the CPU, and operators on any target.

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include "bench/bits.h"
#include "bench/cpu/kernel_suite.h"
#include "bench/operator_suite.h"
#include "bench/operators.h"
#include "bench/schedules.h"
#include "bench/subcommand.h"
#include "bench/tuned_suites.h"
#include "support/check.h"
#include "support/numeric_mode.h"
#include "support/target.h"
#include "support/target_api.h"

namespace tcc {
namespace {

struct KernelsOptions {
  ScheduleSuiteOptions schedules;  // holds what the others have as well
  OperatorSuiteOptions operators;
  std::string db;  // of tuned schedules
};

// The mode of a run of tcc-bench kernels.
enum class KernelsMode {
  kSchedules,       // measures hand-written schedules
  kStage,           // prints a stage of them
  kTuned,           // measures schedules of a database
  kOperatorsOnCpu,  // measures operators
  kOperatorsOnGpu,
  kCompileOnly,  // compiles operators
  kBits,         // measures products of few bits
};

using enum KernelsMode;

struct OptionUse {
  const char* option;
  std::vector<KernelsMode> modes;  // that use the option
};

// Returns the options that have a meaning in some modes only. Other options always have one.
const std::vector<OptionUse>& OptionUses() {
  static const std::vector<OptionUse> uses = {
      {"--traces", {kSchedules, kStage}},
      {"--trace", {kSchedules, kStage}},
      {"--sketch", {kSchedules, kStage}},
      {"--stage", {kStage}},
      {"--db", {kTuned}},
      {"--threads", {kBits, kSchedules, kTuned, kOperatorsOnCpu}},
      {"--peer", {kSchedules, kTuned, kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--rounds", {kBits, kSchedules, kTuned, kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--json", {kBits, kSchedules, kTuned, kOperatorsOnCpu, kOperatorsOnGpu, kCompileOnly}},
      {"--markdown", {kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--numeric", {kOperatorsOnCpu, kOperatorsOnGpu, kCompileOnly}},
      {"--seconds", {kOperatorsOnCpu, kOperatorsOnGpu, kCompileOnly}},
      {"--compile-only", {kCompileOnly}},
      {"--quick", {kOperatorsOnCpu, kOperatorsOnGpu}},
      {"--text", {kOperatorsOnGpu, kCompileOnly}},
  };
  return uses;
}

std::string_view Name(KernelsMode mode) {
  switch (mode) {
    case kSchedules:
      return "a suite of schedules";
    case kStage:
      return "--stage";
    case kTuned:
      return "--db";
    case kOperatorsOnCpu:
      return "operators on a CPU";
    case kOperatorsOnGpu:
      return "operators on a GPU";
    case kCompileOnly:
      return "--compile-only";
    case kBits:
      return "suite bits";
  }
  TCC_UNREACHABLE();
}

// Refuses options that were given and that the mode would ignore.
Status ExpectUsedOptions(const CLI::App& app, KernelsMode mode) {
  for (const OptionUse& use : OptionUses()) {
    if (app.count(use.option) == 0 || std::ranges::count(use.modes, mode) > 0) continue;
    return UsageError("{} has no meaning for {}", use.option, Name(mode));
  }
  return OkStatus();
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Status ExpectKernelSuites(const std::vector<std::string>& suites) {
  for (const std::string& suite : suites) {
    if (!KernelSuite(suite).empty()) continue;
    return UsageError("no suite '{}'; there are {}, {}, and of operators {}", suite,
                      KernelSuiteNames(), kBitsSuite, OperatorSuiteNames());
  }
  return OkStatus();
}

StatusOr<KernelsMode> ModeOf(const KernelsOptions& options) {
  const auto& [schedules, operators, db] = options;
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(operators.target));
  if (IsOpenCl(target)) {
    return UsageError("target '{}' has no benchmarks; expected a CPU or a GPU of CUDA's",
                      target.name);
  }
  bool on_gpu = IsCuda(target);
  if (!OperatorSuite(schedules.suite).empty()) {
    if (operators.text && !on_gpu) return UsageError("--text is for GPUs, not {}", target.name);
    if (operators.compile_only) return KernelsMode::kCompileOnly;
    return on_gpu ? KernelsMode::kOperatorsOnGpu : KernelsMode::kOperatorsOnCpu;
  }
  if (schedules.suite == kBitsSuite) return KernelsMode::kBits;
  bool tuned = !db.empty();
  TCC_RETURN_IF_ERROR(
      ExpectKernelSuites(tuned ? SplitAtCommas(schedules.suite) : std::vector{schedules.suite}));
  if (operators.target != "native") {
    return UsageError("suite '{}' is for native; for other targets there are {}", schedules.suite,
                      OperatorSuiteNames());
  }
  if (tuned) return KernelsMode::kTuned;
  return schedules.stage.empty() ? KernelsMode::kSchedules : KernelsMode::kStage;
}

Status RunKernels(const KernelsOptions& options, const CLI::App& app) {
  TCC_ASSIGN_OR_RETURN(KernelsMode mode, ModeOf(options));
  TCC_RETURN_IF_ERROR(ExpectUsedOptions(app, mode));
  const ScheduleSuiteOptions& schedules = options.schedules;
  if (mode == KernelsMode::kSchedules || mode == KernelsMode::kStage) {
    return RunScheduleSuite(schedules);
  }
  if (mode == KernelsMode::kBits) {
    return RunBitsSuite({.product = schedules.kernel,
                         .target = options.operators.target,
                         .threads = schedules.threads,
                         .rounds = schedules.rounds,
                         .json = schedules.json});
  }
  if (mode == KernelsMode::kTuned) {
    bool all_cpus = app.count("--threads") == 0;
    return RunTunedSuites({.suites = SplitAtCommas(schedules.suite),
                           .kernel = schedules.kernel,
                           .db = options.db,
                           .threads = all_cpus ? std::vector<int>{} : schedules.threads,
                           .peers = schedules.peers,
                           .rounds = schedules.rounds,
                           .json = schedules.json});
  }
  if (app.count("--threads") > 0 && schedules.threads.size() > 1) {
    return UsageError("--threads has {} numbers; operators take one", schedules.threads.size());
  }
  OperatorSuiteOptions operators = options.operators;
  operators.suite = schedules.suite;
  operators.kernel = schedules.kernel;
  operators.threads = schedules.threads.back();
  operators.peers = schedules.peers;
  operators.rounds = schedules.rounds;
  operators.json = schedules.json;
  return RunOperatorSuite(operators);
}

std::string NumericHelp() {
  std::vector<std::string_view> names;
  for (const NumericModeRow& row : NumericModes()) names.push_back(row.name);
  return fmt::format("Of operators: the mode that ours and the peers compute in: {}",
                     fmt::join(names, ", "));
}

}  // namespace

BenchAction DeclareKernels(CLI::App& app) {
  auto options = std::make_shared<KernelsOptions>();
  ScheduleSuiteOptions& schedules = options->schedules;
  app.add_option("--suite", schedules.suite,
                 "Which kernels: " + std::string(KernelSuiteNames()) +
                     " (several with --db); products of few bits: " + kBitsSuite +
                     "; which operators: " + std::string(OperatorSuiteNames()));
  app.add_option("--kernel", schedules.kernel, "Only this one of the suite");
  CLI::Option* traces =
      app.add_option("--traces", schedules.traces, "Folder of the schedules of suite traces");
  // One of them says what runs.
  CLI::Option* trace =
      app.add_option("--trace", schedules.trace, "A schedule to try on --kernel")->excludes(traces);
  app.add_option("--sketch", schedules.sketch, "The start point of sketch N: 0 without a trace")
      ->excludes(traces)
      ->excludes(trace);
  app.add_option("--stage", schedules.stage,
                 "Measure nothing; print the kernels at a stage: schedule, lowered, source, asm");
  app.add_option("--db", options->db,
                 "Database of tuned schedules: measure them beside the kernels' starts");
  app.add_option("--threads", schedules.threads,
                 "Numbers of threads: 1,2; of operators one; with --db all CPUs by default")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024).description(""));
  app.add_option(
         "--peer", schedules.peers,
         "Only these of onednn, openblas; on a GPU of cublas, cublaslt, cudnn, cublas+cudnn; none")
      ->delimiter(',');
  app.add_option("--rounds", schedules.rounds, "How often each is measured in turn")
      ->check(CLI::Range(1, 1000).description(""))
      ->capture_default_str();
  app.add_option("--json", schedules.json, "Write [{name, flops, ours_us, ...}], to stdout or FILE")
      ->expected(0, 1);
  OperatorSuiteOptions& operators = options->operators;
  app.add_option("--target", operators.target, "Of operators: native, sm_86, ...");
  app.add_option("--numeric", operators.numeric, NumericHelp())->type_name("MODE");
  app.add_option("--seconds", operators.seconds, "Begin no operator after so long; 0: no limit")
      ->check(RefuseNan)
      ->check(CLI::Range(0.0, 1e9).description(""));
  app.add_flag("--compile-only", operators.compile_only,
               "Only compile the operators, to the cache");
  app.add_flag("--text", operators.text, "CUDA text, for the emulated driver in TCC_CUDA_DRIVER");
  app.add_flag("--quick", operators.quick, "Few launches: only to see that it works");
  app.add_option("--markdown", operators.markdown, "Write a table, to stdout or FILE")
      ->expected(0, 1);
  return [options, &app] { return RunKernels(*options, app); };
}

}  // namespace tcc
