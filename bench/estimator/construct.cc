#include <fmt/core.h>

#include <cmath>
#include <map>
#include <memory>

#include "autodiff_features/gpu/gpu_prior.h"
#include "bench/subcommand.h"
#include "compiler/kernels.h"
#include "compiler/make_backend.h"
#include "models/zoo/zoo.h"
#include "schedule/space/runnable_schedule.h"
#include "search/candidate/build_candidates.h"
#include "search/searchers/searcher.h"
#include "search/space/task_space.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// The number of schedules of a kernel that are compiled in search of one without a fault.
constexpr size_t kMaxCompiled = 16;
// The number of schedules that a search asks for at a time.
constexpr size_t kConstructed = 16;
constexpr RunSettings kCold = {.cold_weights = true, .cold_activations = true};

struct ConstructOptions {
  std::string network = "resnet50";
  std::string target = "sm_86";
  std::string kernel;
  size_t picks = 1000;
};

// A schedule of a kernel, as machine code says: no device is needed.
struct CodeReport {
  std::string schedule = {};   // the sketch and its sizes
  double predicted = 0;        // seconds
  double predicted_share = 0;  // of multiply-adds, in the launch that issues longest
  double predicted_code = 0;   // instructions
  int64_t passed = 0;          // better ones that were refused or have a fault
  std::string fault = {};      // "" if there is none
  int64_t code_size = 0;       // CodeSizeOf
  int64_t registers = 0, spill_bytes = 0, shared_bytes = 0, code_bytes = 0;
  double fma_share = 0;  // of the main loop
  double waves = 0;
  std::vector<std::string> terms = {};  // of the prediction, a line per launch and site
};

struct KernelReport {
  std::string kernel;
  CodeReport start;  // what is compiled without a search
  CodeReport pick;   // what rTile puts first
  bool constructed = false;
  bool is_start = false;  // the pick is the start
  double construct_seconds = 0;
  size_t points = 0;  // that were predicted for that
};

template <typename Value>
Value ValueOf(const std::vector<std::pair<std::string, Value>>& rows, std::string_view name) {
  for (const auto& [key, value] : rows) {
    if (key == name) return value;
  }
  return 0;
}

StatusOr<CodeReport> CompileLowered(const Function& lowered, Backend& backend) {
  TCC_ASSIGN_OR_RETURN(CompiledModule module, backend.Compile({{lowered}}, {}));
  const CompiledKernel& kernel = module.kernels[0];
  TCC_RETURN_IF_ERROR(kernel.refused);
  return CodeReport{.fault = kernel.fault,
                    .registers = ValueOf(kernel.statistics, "registers"),
                    .spill_bytes = ValueOf(kernel.statistics, "spill_bytes"),
                    .shared_bytes = ValueOf(kernel.statistics, "shared_bytes"),
                    .code_bytes = ValueOf(kernel.statistics, "code_bytes"),
                    .fma_share = ValueOf(kernel.ratios, "ffma_share"),
                    .waves = ValueOf(kernel.ratios, "waves")};
}

std::string TextOf(const std::string& sketch, const Decisions& sizes) {
  std::string text = sketch;
  for (const auto& [name, value] : sizes) text += fmt::format(" {}={}", name, value);
  return text;
}

// Adds the predictions at a point, in microseconds.
Status AddPredictions(TaskSpace& space, TaskEstimator& estimator, const SearchPoint& point,
                      const Target& target, CodeReport& report) {
  report.predicted = std::exp(estimator.Rank(point.sketch, {&point.point, 1})[0].ln_seconds);
  const SymbolicProgram& program = *space.Program(point.sketch);
  SizeVars sizes = VarsOf(program.trace.sizes);
  PointTable at(sizes.vars.size(), 1);
  for (size_t s = 0; s < sizes.vars.size(); ++s) at.at(s, 0) = static_cast<double>(point.point[s]);
  double longest = -1;
  for (const LaunchWork& launch : LaunchesOf(program.fn, target)) {
    LaunchPrior prior = PriorOf(launch, ConstantsOf(GpuProfileOf(target)), kCold);
    std::vector<Expr> rows = {prior.issue,    prior.passes,    prior.l2,
                              prior.memory,   prior.latency,   prior.seconds,
                              prior.resident, prior.fma_share, prior.code};
    TCC_ASSIGN_OR_RETURN(BatchEvaluator evaluator,
                         BatchEvaluator::Compile(rows, sizes.vars, sizes.bounds));
    PointTable values = evaluator.Evaluate(at);
    auto us = [&](size_t row) { return 1e6 * values.at(row, 0); };
    if (us(0) > longest) {
      report.predicted_share = values.at(7, 0);
      report.predicted_code = values.at(8, 0);
    }
    longest = std::max(longest, us(0));
    std::string line = fmt::format(
        "{}: issue {:.1f}, passes {:.1f}, L2 {:.1f}, memory {:.1f}, latency {:.1f}, all {:.1f} us; "
        "{} blocks resident, {:.1f} % multiply-adds, {:.0f} instructions; a formula of {} steps",
        launch.name, us(0), us(1), us(2), us(3), us(4), us(5), values.at(6, 0),
        100 * values.at(7, 0), values.at(8, 0), evaluator.instructions());
    for (const std::string& access : launch.without_box) line += "; no box for " + access;
    report.terms.push_back(std::move(line));
    for (const WarpSite& site : launch.sites) {
      std::vector<Expr> counts = {site.warps,         site.runs,   site.instructions,
                                  site.multiply_adds, site.passes, site.sectors};
      TCC_ASSIGN_OR_RETURN(BatchEvaluator counter,
                           BatchEvaluator::Compile(counts, sizes.vars, sizes.bounds));
      PointTable count = counter.Evaluate(at);
      report.terms.push_back(fmt::format(
          "  {}: {} warps x {} runs x ({:.0f} instructions, {:.0f} multiply-adds, {:.1f} passes, "
          "{:.1f} sectors)",
          site.site.block->name, count.at(0, 0), count.at(1, 0), count.at(2, 0), count.at(3, 0),
          count.at(4, 0), count.at(5, 0)));
    }
  }
  return OkStatus();
}

// Returns the schedule that a compilation without a search takes: the first one without a fault.
StatusOr<CodeReport> CompileStart(KernelStages kernel, const CompileOptions& options,
                                  Backend& backend, TaskSpace& space, TaskEstimator& estimator) {
  int64_t passed = 0;
  StatusOr<CodeReport> report = CompileLowered(kernel.lowered, backend);
  while (!report.ok() || !report->fault.empty()) {
    TCC_ASSIGN_OR_RETURN(bool more, FinishWithNextChoice(kernel, options));
    if (!more) break;
    ++passed;
    report = CompileLowered(kernel.lowered, backend);
  }
  TCC_RETURN_IF_ERROR(report.status());
  report->passed = passed;
  LoweredKernel start;
  start.lowered = kernel.lowered;
  start.prepare = kernel.prepare;
  report->code_size = CodeSizeOf(start);
  report->schedule = TextOf(kernel.sketch, kernel.schedule.decisions);
  // The first sketch at its start comes first in the space, too.
  std::optional<SearchPoint> point = kernel.choice == 0 ? space.Start(0) : std::nullopt;
  report->predicted = std::nan("");
  if (point) {
    TCC_RETURN_IF_ERROR(AddPredictions(space, estimator, *point, options.target, *report));
  }
  return report;
}

// The instructions that the prior expects at the points of a task.
class CodeEstimator {
 public:
  CodeEstimator(TaskSpace& space, const Target& target) : space_(space), target_(target) {}

  StatusOr<double> At(const SearchPoint& point) {
    auto found = evaluators_.find(point.sketch);
    if (found == evaluators_.end()) {
      const SymbolicProgram& program = *space_.Program(point.sketch);
      Expr code = FloatConst(kFloat64, 0);
      for (const LaunchWork& launch : LaunchesOf(program.fn, target_)) {
        code = code + PriorOf(launch, ConstantsOf(GpuProfileOf(target_)), kCold).code;
      }
      SizeVars sizes = VarsOf(program.trace.sizes);
      TCC_ASSIGN_OR_RETURN(BatchEvaluator evaluator,
                           BatchEvaluator::Compile({&code, 1}, sizes.vars, sizes.bounds));
      found = evaluators_.emplace(point.sketch, std::move(evaluator)).first;
    }
    return found->second.EvaluateAt(point.point)[0];
  }

 private:
  TaskSpace& space_;
  const Target& target_;
  std::map<size_t, BatchEvaluator> evaluators_;
};

// Walks the constructed schedules until one compiles without a fault. Passes over code that a
// tuning would not build, and then over points of the same sketch that expect nearly as many
// instructions. The default schedule is taken where nothing better is left.
Status CompilePick(const Workload& workload, const std::vector<SearchPoint>& points,
                   const CompileOptions& options, Backend& backend, TaskSpace& space,
                   TaskEstimator& estimator, KernelReport& report) {
  int64_t most_code = MostCodeBeside(report.start.code_size, options.target);
  constexpr double kLess = 0.8;  // of the instructions of a point whose code was too large
  CodeEstimator estimated(space, options.target);
  std::map<size_t, double> most_instructions;  // of a sketch
  size_t compiled = 0;
  for (size_t p = 0; p < points.size() && compiled < kMaxCompiled; ++p) {
    TCC_ASSIGN_OR_RETURN(double instructions, estimated.At(points[p]));
    auto known = most_instructions.find(points[p].sketch);
    if (known != most_instructions.end() && instructions > known->second) continue;
    double ln_seconds = estimator.Rank(points[p].sketch, {&points[p].point, 1})[0].ln_seconds;
    // Some proposals are drawn at random.
    if (std::exp(ln_seconds) > report.start.predicted) continue;
    Candidate candidate = space.ToCandidate(points[p]);
    const Function& tensor = workload.variants[candidate.schedule.variant];
    StatusOr<Function> scheduled = ReplayFor(options.target, tensor, candidate.schedule);
    if (!scheduled.ok()) continue;
    StatusOr<LoweredKernel> lowered = LowerKernel(*scheduled);
    if (!lowered.ok()) continue;
    if (CodeSizeOf(*lowered) > most_code) {
      most_instructions[points[p].sketch] = kLess * instructions;
      continue;
    }
    ++compiled;
    StatusOr<CodeReport> code = CompileLowered(lowered->lowered, backend);
    if (!code.ok() || !code->fault.empty()) continue;
    report.pick = *std::move(code);
    report.pick.code_size = CodeSizeOf(*lowered);
    report.pick.passed = static_cast<int64_t>(p);
    TCC_RETURN_IF_ERROR(AddPredictions(space, estimator, points[p], options.target, report.pick));
    report.pick.schedule = TextOf(candidate.rules, candidate.schedule.decisions);
    report.constructed = true;
    return OkStatus();
  }
  if (std::isfinite(report.start.predicted)) {
    report.pick = report.start;
    report.constructed = report.is_start = true;
  }
  return OkStatus();
}

StatusOr<KernelReport> ReportOf(const KernelStages& kernel, const CompileOptions& compile,
                                const ConstructOptions& options, Backend& backend) {
  Workload workload = WorkloadOf(kernel);
  KernelReport report;
  report.kernel = kernel.symbol;
  Stopwatch stopwatch;
  TaskSpace space(workload, compile.target);
  TaskHistory history;
  TaskEstimator estimator(space, compile.target, kCold, nullptr);
  Random random(1);
  std::unique_ptr<Searcher> searcher = MakeTileSearcher({space, history, estimator, &estimator});
  std::vector<SearchPoint> points = searcher->Propose(kConstructed, random);
  report.construct_seconds = stopwatch.Seconds();
  report.points = estimator.predicted();
  points = searcher->Propose(options.picks, random);
  TCC_ASSIGN_OR_RETURN(report.start, CompileStart(kernel, compile, backend, space, estimator));
  TCC_RETURN_IF_ERROR(CompilePick(workload, points, compile, backend, space, estimator, report));
  return report;
}

void PrintRow(const KernelReport& report) {
  auto print = [&](const CodeReport& code) {
    fmt::print(" {:>8.1f} {:>4} {:>4} {:>6} {:>5.0f} {:>5.1f} {:>5.1f} {:>6.1f} {:>2}",
               code.predicted * 1e6, code.registers, code.spill_bytes, code.shared_bytes,
               static_cast<double>(code.code_bytes) / 16, 100 * code.fma_share,
               100 * code.predicted_share, code.waves, code.passed);
  };
  fmt::print("{:<36} |", report.kernel.substr(0, 36));
  print(report.start);
  fmt::print(" |");
  print(report.pick);
  fmt::print(" | {:>6.1f} {:>6}{}\n", 1e3 * report.construct_seconds, report.points,
             !report.constructed ? "  not constructed"
             : report.is_start   ? "  the start"
                                 : "");
  std::fflush(stdout);
}

// Sums over the kernels of a network.
struct NetworkSum {
  size_t kernels = 0, constructed = 0, at_start = 0;
  double start_share = 0, pick_share = 0;
  int64_t start_spills = 0, pick_spills = 0;
  double start_seconds = 0, pick_seconds = 0;
  double construct_seconds = 0, most_construct_seconds = 0;
  size_t points = 0, most_points = 0;

  void Add(const KernelReport& report) {
    ++kernels;
    constructed += report.constructed ? 1 : 0;
    at_start += report.is_start ? 1 : 0;
    start_share += report.start.fma_share;
    pick_share += report.pick.fma_share;
    start_spills += report.start.spill_bytes;
    pick_spills += report.pick.spill_bytes;
    start_seconds += report.start.predicted;
    pick_seconds += report.pick.predicted;
    construct_seconds += report.construct_seconds;
    most_construct_seconds = std::max(most_construct_seconds, report.construct_seconds);
    points += report.points;
    most_points = std::max(most_points, report.points);
  }
};

void PrintSum(const std::string& network, const NetworkSum& sum) {
  double kernels = static_cast<double>(std::max<size_t>(sum.kernels, 1));
  fmt::print(
      "{}: {} of {} kernels constructed, {} as they start; multiply-adds {:.3f} start, {:.3f} "
      "pick; spilled bytes {} "
      "start, {} pick; predicted {:.1f} us start, {:.1f} us pick; construction {:.1f} ms in mean, "
      "{:.1f} at most; {:.0f} points in mean, {} at most\n",
      network, sum.constructed, sum.kernels, sum.at_start, sum.start_share, sum.pick_share,
      sum.start_spills, sum.pick_spills, 1e6 * sum.start_seconds, 1e6 * sum.pick_seconds,
      1e3 * sum.construct_seconds / kernels, 1e3 * sum.most_construct_seconds,
      static_cast<double>(sum.points) / kernels, sum.most_points);
}

StatusOr<NetworkSum> ConstructNetwork(const std::string& network, const CompileOptions& compile,
                                      const ConstructOptions& options, Backend& backend) {
  TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo(network));
  TCC_ASSIGN_OR_RETURN(KernelSet set, KernelsOf(std::move(graph), compile));
  NetworkSum sum;
  for (const KernelStages& kernel : set.kernels) {
    if (kernel.symbol.find(options.kernel) == std::string::npos) continue;
    TCC_ASSIGN_OR_RETURN(KernelReport report, ReportOf(kernel, compile, options, backend));
    sum.Add(report);
    PrintRow(report);
    if (!options.kernel.empty()) {
      for (const CodeReport* code : {&report.start, &report.pick}) {
        fmt::print("  {}: {}\n", code == &report.start ? "start" : "pick", code->schedule);
        for (const std::string& line : code->terms) fmt::print("    {}\n", line);
      }
    }
  }
  return sum;
}

Status RunConstruct(const ConstructOptions& options) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(options.target));
  if (target.kind != TargetKind::kGpu) {
    return UsageError("--target {}: expected a GPU", options.target);
  }
  CompileOptions compile{.target = target};
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, MakeBackend(target));
  std::vector<std::string> networks = {options.network};
  if (options.network == "all") networks = ZooNames();
  fmt::print(
      "{:<36} | {:>8} {:>4} {:>4} {:>6} {:>5} {:>5} {:>5} {:>6} {:>2} | the same of the pick | "
      "ms, points\n",
      "kernel", "start us", "regs", "sp.", "shared", "code", "fma%", "guess", "waves", "no");
  for (const std::string& network : networks) {
    TCC_ASSIGN_OR_RETURN(NetworkSum sum, ConstructNetwork(network, compile, options, *backend));
    PrintSum(network, sum);
  }
  return OkStatus();
}

}  // namespace

BenchAction DeclareConstruct(CLI::App& app) {
  auto options = std::make_shared<ConstructOptions>();
  app.add_option("--network", options->network, "One of tcc zoo list, or all")
      ->capture_default_str();
  app.add_option("--target", options->target,
                 "The GPU to construct for, as of tcc compile --target")
      ->capture_default_str();
  app.add_option("--kernel", options->kernel,
                 "Only kernels with this in their names, with their schedules");
  app.add_option("--picks", options->picks, "Schedules that are looked at until one compiles")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  return [options] { return RunConstruct(*options); };
}

}  // namespace tcc
