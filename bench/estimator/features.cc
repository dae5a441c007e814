#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "autodiff_features/features/feature_table.h"
#include "autodiff_features/features/sketch_formulas.h"
#include "bench/subcommand.h"
#include "compiler/kernels.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/usable_cpus.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

struct FeaturesOptions {
  std::string network = "resnet50";
  std::string target = "native";
  std::string kernel;
  int threads = 0;
  size_t points = 2000;
};

// A sketch of a kernel: its formulas, their values where it starts, and what they cost.
struct SketchReport {
  std::string sketch;
  FeatureKind kind = FeatureKind::kNest;
  FormulaCounts counts;
  size_t sizes = 0;
  size_t feature_instructions = 0;
  size_t prior_instructions = 0;
  double extract_seconds = 0;
  double points_per_second = 0;  // features and prior
  double priors_per_second = 0;  // constraints and prior
  std::vector<std::string> nests;
  std::vector<double> rows;  // nest by nest
  double start_seconds = 0;  // predicted
  bool finite = true;        // at all sampled points
};

StatusOr<SketchReport> ReportOf(const Function& fn, const Sketch& sketch, const Target& target,
                                const FeaturesOptions& options) {
  SketchReport report;
  report.sketch = sketch.name;
  SymbolicProgram program = ProgramOf(fn, target, sketch);
  TCC_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(program));
  Stopwatch stopwatch;
  TCC_ASSIGN_OR_RETURN(SketchFormulas formulas,
                       SketchFormulas::Create(program, target, DeviceProfileOf(target),
                                              {.threads = options.threads}));
  report.extract_seconds = stopwatch.Seconds();
  report.kind = formulas.kind();
  report.counts = formulas.counts();
  report.sizes = formulas.sizes().size();
  report.nests = formulas.nests();
  report.feature_instructions = formulas.features().instructions();
  report.prior_instructions = formulas.prior().instructions();

  Random random(1);
  std::vector<Point> points = space.Sample(options.points, random);
  PointTable table = formulas.ToTable(points);
  stopwatch = Stopwatch();
  PointTable rows = formulas.features().Evaluate(table);
  PointTable seconds = formulas.prior().Evaluate(table);
  report.points_per_second = static_cast<double>(points.size()) / stopwatch.Seconds();
  stopwatch = Stopwatch();
  std::vector<bool> legal = space.AreLegal(points);
  seconds = formulas.prior().Evaluate(table);
  report.priors_per_second = static_cast<double>(points.size()) / stopwatch.Seconds();
  for (size_t p = 0; p < points.size(); ++p) {
    report.finite = report.finite && std::isfinite(seconds.at(0, p));
    for (size_t r = 0; r < rows.columns(); ++r) {
      report.finite = report.finite && std::isfinite(rows.at(r, p));
    }
  }
  std::vector<Point> starts = {space.ToPoint(sketch.start)};
  PointTable first = formulas.features().Evaluate(formulas.ToTable(starts));
  for (size_t r = 0; r < first.columns(); ++r) report.rows.push_back(first.at(r, 0));
  report.start_seconds = std::exp(formulas.LnSecondsAt(starts)[0]);
  return report;
}

void PrintRow(const std::string& kernel, const SketchReport& report) {
  fmt::print(
      "{:<40} {:<16} {:>5} {:>3}/{:<3} {:>3}/{:<3} {:>6} {:>6} {:>7.1f} {:>9.0f} {:>9.0f} "
      "{:>9.1f}{}\n",
      kernel.substr(0, 40), report.sketch.substr(0, 16), report.sizes, report.counts.bounded.size(),
      report.counts.sites, report.counts.without_box.size(), report.counts.accesses,
      report.feature_instructions, report.prior_instructions, report.extract_seconds * 1e3,
      report.points_per_second, report.priors_per_second, report.start_seconds * 1e6,
      report.finite ? "" : "  not finite");
}

void PrintRows(const SketchReport& report) {
  for (const std::string& block : report.counts.bounded) {
    fmt::print("  counts of block {} are upper bounds\n", block);
  }
  for (const std::string& access : report.counts.without_box) {
    fmt::print("  no box of cells for {}\n", access);
  }
  for (size_t n = 0; n < report.nests.size(); ++n) {
    fmt::print("  nest {}\n", report.nests[n]);
    const std::span<const FeatureRow> rows = FeatureRows(report.kind);
    for (size_t f = 0; f < rows.size(); ++f) {
      fmt::print("    {:<18} {:>14.6g} {}\n", rows[f].name, report.rows[n * rows.size() + f],
                 rows[f].unit);
    }
  }
}

Status RunFeatures(const FeaturesOptions& given) {
  FeaturesOptions options = given;
  if (options.threads == 0) options.threads = UsableCpus();
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(options.target));
  if (target.kind == TargetKind::kReference) {
    return UsageError("--target {}: expected a CPU or a GPU", options.target);
  }
  TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo(options.network));
  TCC_ASSIGN_OR_RETURN(KernelSet set, KernelsOf(std::move(graph), {.target = target}));
  fmt::print("{:<40} {:<16} {:>5} {:>7} {:>7} {:>6} {:>6} {:>7} {:>9} {:>9} {:>9}\n", "kernel",
             "sketch", "sizes", "bounded", "no box", "feat.", "prior", "ms", "feat./s", "prior/s",
             "us");
  for (const KernelStages& kernel : set.kernels) {
    if (kernel.symbol.find(options.kernel) == std::string::npos) continue;
    for (const Function& variant : kernel.variants) {
      for (const Sketch& sketch : GenerateSketches(variant, target)) {
        TCC_ASSIGN_OR_RETURN(SketchReport report, ReportOf(variant, sketch, target, options));
        PrintRow(kernel.symbol, report);
        if (!options.kernel.empty()) PrintRows(report);
      }
    }
  }
  return OkStatus();
}

}  // namespace

BenchAction DeclareFeatures(CLI::App& app) {
  auto options = std::make_shared<FeaturesOptions>();
  app.add_option("--network", options->network, "One of tcc zoo list")->capture_default_str();
  app.add_option("--target", options->target,
                 "The CPU or GPU to count for, as of tcc compile --target")
      ->capture_default_str();
  app.add_option("--kernel", options->kernel, "Only kernels with this in their names, row by row");
  app.add_option("--threads", options->threads, "Threads of a run; 0: all")
      ->check(CLI::Range(0, 1024));
  app.add_option("--points", options->points, "Points of each sketch that are evaluated")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  return [options] { return RunFeatures(*options); };
}

}  // namespace tcc
