#include "autodiff_features/fit_constants.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "autodiff_features/learned/adam.h"
#include "autodiff_features/learned/robust_loss.h"
#include "autodiff_features/task_formulas.h"
#include "support/check.h"

namespace tcc {
namespace {

// The prior of one sketch over its sizes and the constants, and the points of it that count.
struct FittedSketch {
  Tape tape;
  PointTable points;  // sizes, then constants
  size_t sizes = 0;
  std::vector<double> ln_seconds;  // measured
  std::vector<double> weights;
};

bool IsTimed(const MeasuredPoint& point) {
  return std::isfinite(point.seconds) && point.seconds > 0;
}

// Every k-th point of a task in the order of their times, which are finite.
std::vector<const MeasuredPoint*> SomePoints(const MeasuredTask& task, size_t most) {
  std::vector<const MeasuredPoint*> points;
  for (const MeasuredPoint& point : task.points) {
    if (IsTimed(point)) points.push_back(&point);
  }
  std::ranges::stable_sort(points, {}, [](const MeasuredPoint* p) { return p->seconds; });
  std::vector<const MeasuredPoint*> some;
  for (size_t i = 0; i < std::min(most, points.size()); ++i) {
    some.push_back(points[i * points.size() / std::min(most, points.size())]);
  }
  return some;
}

std::optional<FittedSketch> SketchOf(const MeasuredTask& task, size_t sketch,
                                     std::span<const MeasuredPoint* const> points,
                                     const PriorTape& tape_of, size_t constants) {
  StatusOr<SymbolicProgram> program = ReplaySketch(task, sketch);
  if (!program.ok()) return std::nullopt;
  std::vector<Point> placed;
  std::vector<double> ln_seconds, weights;
  double best = task.BestSeconds();
  for (const MeasuredPoint* point : points) {
    if (point->sketch != sketch) continue;
    StatusOr<Point> values = PlacePoint(point->set, program->trace.sizes);
    if (!values.ok()) continue;
    placed.push_back(*std::move(values));
    ln_seconds.push_back(std::log(point->seconds));
    weights.push_back(PointWeight(best / point->seconds, point->precise));
  }
  if (placed.empty()) return std::nullopt;
  StatusOr<Tape> tape = tape_of(*program, task);
  if (!tape.ok()) return std::nullopt;
  size_t sizes = program->trace.sizes.size();
  PointTable table(sizes + constants, placed.size());
  for (size_t p = 0; p < placed.size(); ++p) {
    for (size_t s = 0; s < sizes; ++s) table.at(s, p) = static_cast<double>(placed[p][s]);
  }
  return FittedSketch{*std::move(tape), std::move(table), sizes, std::move(ln_seconds),
                      std::move(weights)};
}

void SetConstants(const std::vector<double>& ln_constants, FittedSketch& sketch) {
  for (size_t c = 0; c < ln_constants.size(); ++c) {
    std::ranges::fill(sketch.points.column(sketch.sizes + c), std::exp(ln_constants[c]));
  }
}

// Removes the points whose prediction or slopes at the constants are not finite; returns how many.
size_t RemoveInfinite(std::span<const FittedConstant> constants,
                      const std::vector<double>& ln_constants, FittedSketch& sketch) {
  SetConstants(ln_constants, sketch);
  size_t count = sketch.ln_seconds.size();
  PointTable seeds(1, count);
  std::ranges::fill(seeds.column(0), 1.0);
  Tape::Slopes slopes = sketch.tape.Gradient(sketch.points, 0, seeds);
  std::vector<size_t> kept;
  for (size_t p = 0; p < count; ++p) {
    bool finite = std::isfinite(slopes.values.at(0, p));
    for (size_t c = 0; c < ln_constants.size(); ++c) {
      if (!constants[c].fitted) continue;
      finite = finite && std::isfinite(slopes.gradient.at(sketch.sizes + c, p));
    }
    if (finite) kept.push_back(p);
  }
  if (kept.size() == count) return 0;
  PointTable points(sketch.points.columns(), kept.size());
  std::vector<double> ln_seconds, weights;
  for (size_t i = 0; i < kept.size(); ++i) {
    for (size_t c = 0; c < points.columns(); ++c) points.at(c, i) = sketch.points.at(c, kept[i]);
    ln_seconds.push_back(sketch.ln_seconds[kept[i]]);
    weights.push_back(sketch.weights[kept[i]]);
  }
  sketch.points = std::move(points);
  sketch.ln_seconds = std::move(ln_seconds);
  sketch.weights = std::move(weights);
  return count - kept.size();
}

// The weighted loss of a sketch's points; adds its slopes by the logarithms of the constants.
double LossOf(FittedSketch& sketch, const std::vector<double>& ln_constants,
              std::vector<double>& slopes) {
  size_t count = sketch.ln_seconds.size();
  SetConstants(ln_constants, sketch);
  PointTable predicted = sketch.tape.Exact(sketch.points);
  PointTable seeds(1, count);
  double loss = 0;
  for (size_t p = 0; p < count; ++p) {
    double off = predicted.at(0, p) - sketch.ln_seconds[p];
    loss += sketch.weights[p] * HuberLoss(off);
    seeds.at(0, p) = sketch.weights[p] * HuberSlope(off);
  }
  PointTable gradient = sketch.tape.Gradient(sketch.points, 0, seeds).gradient;
  for (size_t c = 0; c < ln_constants.size(); ++c) {
    for (double slope : gradient.column(sketch.sizes + c)) {
      slopes[c] += slope * std::exp(ln_constants[c]);
    }
  }
  return loss;
}

}  // namespace

StatusOr<std::vector<double>> FitConstants(std::span<const MeasuredTask> tasks,
                                           std::span<const FittedConstant> constants,
                                           const PriorTape& tape, const FitOptions& options) {
  std::vector<double> ln_start;
  for (const FittedConstant& constant : constants) {
    TCC_CHECK(constant.start > 0) << constant.name << " " << constant.start;
    ln_start.push_back(std::log(constant.start));
  }
  std::vector<FittedSketch> sketches;
  double weight = 0;
  size_t left_out = 0;
  for (const MeasuredTask& task : tasks) {
    for (const MeasuredPoint& point : task.points) {
      if (!IsTimed(point)) ++left_out;
    }
    std::vector<const MeasuredPoint*> points = SomePoints(task, options.points_of_task);
    for (size_t s = 0; s < task.sketches.size(); ++s) {
      std::optional<FittedSketch> sketch = SketchOf(task, s, points, tape, constants.size());
      if (!sketch) continue;
      left_out += RemoveInfinite(constants, ln_start, *sketch);
      if (sketch->ln_seconds.empty()) continue;
      for (double of_point : sketch->weights) weight += of_point;
      sketches.push_back(*std::move(sketch));
    }
  }
  if (left_out > 0 && options.left_out) options.left_out(left_out);
  if (sketches.empty()) return InvalidInput("fitting: expected measured points, got none");
  std::vector<double> ln_constants = ln_start;
  Adam adam(constants.size());
  for (int step = 0; step < options.steps; ++step) {
    std::vector<double> slopes(constants.size(), 0.0);
    double loss = 0;
    for (FittedSketch& sketch : sketches) loss += LossOf(sketch, ln_constants, slopes);
    for (size_t c = 0; c < constants.size(); ++c) {
      double moved = ln_constants[c] - ln_start[c];
      double pull = 2 * options.pull * constants[c].pull * moved;
      slopes[c] = constants[c].fitted ? slopes[c] / weight + pull : 0;
    }
    adam.Step(ln_constants, slopes,
              CosineRate(options.first_rate, options.last_rate,
                         static_cast<double>(step) / options.steps));
    if (options.progress) options.progress(step, loss / weight);
  }
  std::vector<double> fitted;
  for (size_t c = 0; c < constants.size(); ++c) {
    fitted.push_back(constants[c].fitted ? std::exp(ln_constants[c]) : constants[c].start);
  }
  return fitted;
}

}  // namespace tcc
