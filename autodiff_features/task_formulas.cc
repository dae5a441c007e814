#include "autodiff_features/task_formulas.h"

#include <limits>

#include "ir/text/parser.h"

namespace tcc {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

StatusOr<SketchFormulas> FormulasOf(const MeasuredSketch& sketch, const MeasuredTask& task,
                                    const Target& target, const CpuProfile& profile) {
  TCC_ASSIGN_OR_RETURN(Function fn, ParseFunction(sketch.fn));
  TCC_ASSIGN_OR_RETURN(Trace trace, ParseTrace(sketch.trace));
  TCC_ASSIGN_OR_RETURN(SymbolicProgram program, Instantiate(fn, trace));
  return SketchFormulas::Create(program, target, profile, task.settings);
}

}  // namespace

TaskFormulas TaskFormulas::Of(const MeasuredTask& task, const Target& target,
                              const CpuProfile& profile) {
  TaskFormulas result;
  for (const MeasuredSketch& sketch : task.sketches) {
    StatusOr<SketchFormulas> formulas = FormulasOf(sketch, task, target, profile);
    std::optional<SketchFormulas>& place = result.sketches_.emplace_back();
    if (formulas.ok()) {
      place = *std::move(formulas);
    } else {
      result.problems_.push_back(fmt::format("'{}': {}", task.name, Message(formulas.status())));
    }
  }
  return result;
}

std::optional<Point> TaskFormulas::PointOf(const MeasuredPoint& point) const {
  const SketchFormulas* formulas = sketch(point.sketch);
  if (!formulas) return std::nullopt;
  Point values;
  for (const FreeSize& size : formulas->sizes()) {
    auto value = point.set.find(size.var->name);
    if (value == point.set.end() || !Allows(size, value->second)) return std::nullopt;
    values.push_back(value->second);
  }
  return values;
}

TaskFormulas::PlacedPoints TaskFormulas::PointsOf(const MeasuredTask& task, size_t sketch) const {
  PlacedPoints result;
  for (size_t p = 0; p < task.points.size(); ++p) {
    if (task.points[p].sketch != sketch) continue;
    std::optional<Point> point = PointOf(task.points[p]);
    if (!point) continue;
    result.places.push_back(p);
    result.points.push_back(*std::move(point));
  }
  return result;
}

std::vector<KernelFeatures> TaskFormulas::Features(const MeasuredTask& task) const {
  std::vector<KernelFeatures> features(task.points.size(), {.rows = {}, .ln_prior = kNaN});
  for (size_t s = 0; s < sketches_.size(); ++s) {
    PlacedPoints placed = PointsOf(task, s);
    if (placed.points.empty()) continue;
    std::vector<KernelFeatures> of_sketch = FeaturesAt(*sketches_[s], placed.points);
    for (size_t i = 0; i < placed.places.size(); ++i) {
      features[placed.places[i]] = std::move(of_sketch[i]);
    }
  }
  return features;
}

std::vector<double> TaskFormulas::LnSeconds(const MeasuredTask& task) const {
  std::vector<double> seconds(task.points.size(), kNaN);
  for (size_t s = 0; s < sketches_.size(); ++s) {
    PlacedPoints placed = PointsOf(task, s);
    if (placed.points.empty()) continue;
    std::vector<double> of_sketch = sketches_[s]->LnSecondsAt(placed.points);
    for (size_t i = 0; i < placed.places.size(); ++i) seconds[placed.places[i]] = of_sketch[i];
  }
  return seconds;
}

}  // namespace tcc
