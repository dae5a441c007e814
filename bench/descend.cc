#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "autodiff_features/descent.h"
#include "autodiff_features/learned/model_file.h"
#include "autodiff_features/rank_quality.h"
#include "bench/search/median.h"
#include "bench/subcommand.h"
#include "compiler/kernels.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/usable_cpus.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

struct DescendOptions {
  std::string network = "resnet50";
  std::string target = "native";
  std::string kernel;
  std::string model;
  size_t least_sizes = 5;
  int runs = 20;
  size_t seeds = 64;
  bool check = false;
};

// A sketch as something to descend.
struct Problem {
  std::string name;
  SearchSpace space;
  SketchFormulas formulas;
  SketchSlopes slopes;
  const LearnedModel* model = nullptr;

  std::vector<double> operator()(std::span<const Point> points) const {
    return PredictAt(formulas, model, points);
  }
};

StatusOr<Problem> ProblemOf(const std::string& name, const Function& fn, const Sketch& sketch,
                            const Target& target, const LearnedModel* model) {
  SymbolicProgram program = ProgramOf(fn, target, sketch);
  TCC_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(program));
  RunSettings settings{.threads = UsableCpus(), .cold_weights = true, .cold_activations = true};
  TCC_ASSIGN_OR_RETURN(SketchFormulas formulas,
                       SketchFormulas::Create(
                           program, target, model ? model->profile : ProfileOf(target), settings));
  TCC_ASSIGN_OR_RETURN(SketchSlopes slopes, SketchSlopes::Create(formulas, space.constraints()));
  return Problem{fmt::format("{} {}", name, sketch.name), std::move(space), std::move(formulas),
                 std::move(slopes), model};
}

// --- three ways at an equal number of evaluations

constexpr double kNothing = std::numeric_limits<double>::infinity();

struct Found {
  double ln_seconds = kNothing;
  int64_t evaluations = 0;
  double seconds = 0;
};

template <typename Search>
Found Timed(Search search) {
  Stopwatch stopwatch;
  Found found = search();
  found.seconds = stopwatch.Seconds();
  return found;
}

Found ByDescent(const Problem& problem, const DescendOptions& options, Random& random) {
  std::vector<Point> seeds = problem.space.Sample(options.seeds, random);
  DescentOptions descent;
  descent.model = problem.model;
  DescentResult result = Descend(problem.slopes, problem.space, seeds, problem, descent, random);
  // A step needs the smooth twin and two ways back, each about as long as an evaluation.
  int64_t twins = 3 * static_cast<int64_t>(seeds.size()) * descent.steps;
  return {result.best.empty() ? kNothing : result.best[0].ln_seconds, result.evaluations + twins};
}

// Returns the point that is predicted to be fastest, with infinite seconds where none has a
// prediction. Expects points.
RankedPoint BestOf(const Problem& problem, const std::vector<Point>& points) {
  std::vector<double> ln_seconds = problem(points);
  RankedPoint best{Comparable(ln_seconds[0]), points[0]};
  for (size_t p = 1; p < points.size(); ++p) {
    RankedPoint other{ln_seconds[p], points[p]};
    if (IsRankedBefore(other, best)) best = std::move(other);
  }
  return best;
}

Found ByDraws(const Problem& problem, int64_t evaluations, Random& random) {
  std::vector<Point> points = problem.space.Sample(static_cast<size_t>(evaluations), random);
  return {points.empty() ? kNothing : BestOf(problem, points).ln_seconds, std::ssize(points)};
}

// From the best of some draws uphill until no move helps, then from others.
Found ByClimbs(const Problem& problem, const DescendOptions& options, int64_t evaluations,
               Random& random) {
  Found found;
  while (found.evaluations < evaluations) {
    std::vector<Point> points = problem.space.Sample(options.seeds, random);
    if (points.empty()) break;
    RankedPoint best = BestOf(problem, points);
    found.evaluations += std::ssize(points);
    size_t left = static_cast<size_t>(std::max<int64_t>(evaluations - found.evaluations, 0));
    RankedPoint climbed = Polish(problem.space, std::move(best), problem, left, found.evaluations);
    found.ln_seconds = std::min(found.ln_seconds, climbed.ln_seconds);
  }
  return found;
}

// Medians over runs of the time found to the best that any run found.
void Compare(const Problem& problem, const DescendOptions& options) {
  std::vector<double> descent, draws, climbs, seconds, evaluations;
  for (int run = 0; run < options.runs; ++run) {
    Random random(static_cast<uint64_t>(run + 1));
    Found down = Timed([&] { return ByDescent(problem, options, random); });
    descent.push_back(down.ln_seconds);
    seconds.push_back(down.seconds);
    evaluations.push_back(static_cast<double>(down.evaluations));
    draws.push_back(ByDraws(problem, down.evaluations, random).ln_seconds);
    climbs.push_back(ByClimbs(problem, options, down.evaluations, random).ln_seconds);
  }
  double best =
      std::min({std::ranges::min(descent), std::ranges::min(draws), std::ranges::min(climbs)});
  auto above = [&](const std::vector<double>& found) { return std::exp(MedianOf(found) - best); };
  fmt::print("{:<52} {:>5} {:>11.0f} {:>8.3f} {:>8.3f} {:>8.3f} {:>9.0f}\n",
             problem.name.substr(0, 52), problem.slopes.sizes(), MedianOf(evaluations),
             above(descent), above(draws), above(climbs), 1e3 * MedianOf(seconds));
  std::fflush(stdout);
}

// --- slopes beside differences

// Seeds that give every result a like weight, with signs by turns.
PointTable SeedsOf(const PointTable& values) {
  PointTable seeds(values.columns(), values.points());
  for (size_t r = 0; r < values.columns(); ++r) {
    for (size_t p = 0; p < values.points(); ++p) {
      double sign = r % 2 == 0 ? 1 : -1;
      seeds.at(r, p) = sign / std::max(std::abs(values.at(r, p)), 1e-9);
    }
  }
  return seeds;
}

double SeededSum(const PointTable& values, const PointTable& seeds, size_t point) {
  double sum = 0;
  for (size_t r = 0; r < values.columns(); ++r) sum += seeds.at(r, point) * values.at(r, point);
  return sum;
}

constexpr double kWidth = 0.3;
constexpr double kMaxError = 1e-4;

// Draws points off the integers.
PointTable DrawSizes(const Problem& problem, Random& random) {
  PointTable sizes = problem.formulas.ToTable(problem.space.Sample(50, random));
  for (size_t s = 0; s < sizes.columns(); ++s) {
    for (size_t p = 0; p < sizes.points(); ++p) sizes.at(s, p) *= 1 + 0.4 * random.Unit();
  }
  return sizes;
}

// Returns the difference, relative for slopes above 1 and infinite for one that is no number.
double ErrorOf(double slope, double difference) {
  return Comparable(std::abs(slope - difference) / std::max(std::abs(slope), 1.0));
}

// Central differences of some functions by one size, a column for each function.
using DifferencesBy = std::function<PointTable(size_t size, double step)>;

// Returns the largest difference of slopes to central differences. `slopes`: a table for each
// function, a column for each size.
double LargestError(std::span<const PointTable> slopes, const DifferencesBy& differences_by) {
  // One of them has to agree: shorter steps leave more of the rounding, longer ones may pass a bend
  // (a row at kMaxDeviations).
  constexpr double kSteps[] = {1e-6, 1e-5, 1e-7};
  double largest = 0;
  for (size_t s = 0; slopes[0].points() > 0 && s < slopes[0].columns(); ++s) {
    std::vector<double> errors(slopes.size() * slopes[0].points(), kNothing);
    for (double step : kSteps) {
      PointTable differences = differences_by(s, step);
      for (size_t e = 0; e < errors.size(); ++e) {
        size_t f = e % slopes.size(), p = e / slopes.size();
        errors[e] = std::min(errors[e], ErrorOf(slopes[f].at(s, p), differences.at(f, p)));
      }
      if (std::ranges::max(errors) <= kMaxError) break;
    }
    largest = std::max(largest, std::ranges::max(errors));
  }
  return largest;
}

// Returns the error of the slopes of all rows, the prior and the constraints, with like weights.
double ErrorOfRows(const Problem& problem, const PointTable& sizes) {
  const Tape& tape = problem.slopes.tape();
  PointTable seeds = SeedsOf(tape.Smooth(sizes, kWidth));
  PointTable slopes = tape.Gradient(sizes, kWidth, seeds).gradient;
  for (size_t s = 0; s < sizes.columns(); ++s) {
    for (size_t p = 0; p < sizes.points(); ++p) slopes.at(s, p) *= sizes.at(s, p);
  }
  return LargestError({&slopes, 1}, [&](size_t size, double step) {
    PointTable above = sizes, below = sizes;
    for (size_t p = 0; p < sizes.points(); ++p) {
      above.at(size, p) *= 1 + step;
      below.at(size, p) *= 1 - step;
    }
    PointTable up = tape.Smooth(above, kWidth), down = tape.Smooth(below, kWidth);
    PointTable differences(1, sizes.points());
    for (size_t p = 0; p < sizes.points(); ++p) {
      differences.at(0, p) = (SeededSum(up, seeds, p) - SeededSum(down, seeds, p)) / (2 * step);
    }
    return differences;
  });
}

// Returns the error of the slopes that a descent follows: of the prediction through one network of
// the model, and of the penalty.
double ErrorOfModel(const Problem& problem, const PointTable& sizes, size_t member) {
  auto at = [&](const PointTable& logs) {
    return problem.slopes.At(logs, kWidth, problem.model, member);
  };
  PointTable logs = sizes;
  for (size_t s = 0; s < logs.columns(); ++s) {
    for (size_t p = 0; p < logs.points(); ++p) logs.at(s, p) = std::log(logs.at(s, p));
  }
  SketchSlopes::Result result = at(logs);
  std::vector<PointTable> slopes = {std::move(result.cost_slopes),
                                    std::move(result.penalty_slopes)};
  return LargestError(slopes, [&](size_t size, double step) {
    PointTable above = logs, below = logs;
    for (size_t p = 0; p < logs.points(); ++p) {
      above.at(size, p) += step;
      below.at(size, p) -= step;
    }
    SketchSlopes::Result up = at(above), down = at(below);
    PointTable differences(2, logs.points());
    for (size_t p = 0; p < logs.points(); ++p) {
      differences.at(0, p) = (up.ln_seconds[p] - down.ln_seconds[p]) / (2 * step);
      differences.at(1, p) = (up.penalty[p] - down.penalty[p]) / (2 * step);
    }
    return differences;
  });
}

// --- the command

Status ForEachProblem(const DescendOptions& options, const LearnedModel* model,
                      const std::function<void(const Problem&)>& f) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(options.target));
  if (target.kind != TargetKind::kCpu) {
    return UsageError("--target {}: expected a CPU", options.target);
  }
  TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo(options.network));
  TCC_ASSIGN_OR_RETURN(KernelSet set, KernelsOf(std::move(graph), {.target = target}));
  int64_t problems = 0;
  for (const KernelStages& kernel : set.kernels) {
    if (kernel.symbol.find(options.kernel) == std::string::npos) continue;
    for (const Function& variant : kernel.variants) {
      for (const Sketch& sketch : GenerateSketches(variant, target)) {
        if (!options.check && sketch.trace.sizes.size() < options.least_sizes) continue;
        TCC_ASSIGN_OR_RETURN(Problem problem,
                             ProblemOf(kernel.symbol, variant, sketch, target, model));
        f(problem);
        ++problems;
        if (!options.check) break;
      }
    }
  }
  if (problems > 0) return OkStatus();
  return UsageError("--kernel '{}', --least-sizes {}: no sketch of '{}' is left", options.kernel,
                    options.least_sizes, options.network);
}

Status CheckSlopes(const DescendOptions& options, const LearnedModel* model) {
  Random random(1);
  double largest = 0;
  int64_t sketches = 0;
  TCC_RETURN_IF_ERROR(ForEachProblem(options, model, [&](const Problem& problem) {
    PointTable sizes = DrawSizes(problem, random);
    double error = ErrorOfRows(problem, sizes);
    if (model) {
      // The networks take turns, as they do in a descent.
      size_t member = static_cast<size_t>(sketches) % std::max<size_t>(model->members.size(), 1);
      error = std::max(error, ErrorOfModel(problem, sizes, member));
    }
    if (error > kMaxError) fmt::print("{}: {:.2g}\n", problem.name, error);
    largest = std::max(largest, error);
    ++sketches;
  }));
  fmt::print(
      "{}: {} sketches, 50 points each: slopes of {} rows{} and constraints differ by at most "
      "{:.2g} from differences\n",
      options.network, sketches, kFeatures,
      model ? fmt::format(", of {} networks", model->members.size()) : "", largest);
  if (largest <= kMaxError) return OkStatus();
  return absl::InternalError("slopes differ by more than 1e-4 from differences");
}

Status RunDescend(const DescendOptions& options) {
  std::optional<LearnedModel> learned;
  if (!options.model.empty()) {
    TCC_ASSIGN_OR_RETURN(learned, ReadModel(options.model));
  }
  const LearnedModel* model = learned ? &*learned : nullptr;
  if (options.check) return CheckSlopes(options, model);
  fmt::print("{:<52} {:>5} {:>11} {:>8} {:>8} {:>8} {:>9}\n", "kernel and sketch", "sizes",
             "evaluations", "descent", "random", "climbs", "ms");
  return ForEachProblem(options, model, [&](const Problem& problem) { Compare(problem, options); });
}

}  // namespace

BenchAction DeclareDescend(CLI::App& app) {
  auto options = std::make_shared<DescendOptions>();
  app.add_option("--network", options->network, "One of tcc zoo list")->capture_default_str();
  app.add_option("--target", options->target, "The CPU to search for, as of tcc compile --target")
      ->capture_default_str();
  app.add_option("--kernel", options->kernel, "Only kernels with this in their names");
  app.add_option("--model", options->model, "Cost model to descend; without: the prior");
  app.add_option("--least-sizes", options->least_sizes, "Sketches with fewer are left out")
      ->capture_default_str();
  app.add_option("--runs", options->runs, "Runs of each way, from other seeds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seeds", options->seeds, "Points that a descent starts from")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_flag("--gradient-check", options->check,
               "Compare the slopes of all sketches with differences instead");
  return [options] { return RunDescend(*options); };
}

}  // namespace tcc
