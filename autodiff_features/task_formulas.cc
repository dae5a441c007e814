#include "autodiff_features/task_formulas.h"

#include <limits>
#include <map>

#include "ir/text/parser.h"

namespace tcc {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

StatusOr<SketchFormulas> FormulasOf(const MeasuredTask& task, size_t sketch, const Target& target,
                                    const DeviceProfile& profile) {
  TCC_RETURN_IF_ERROR(ExpectMeasuredOn(target, task));
  TCC_ASSIGN_OR_RETURN(SymbolicProgram program, ReplaySketch(task, sketch));
  return SketchFormulas::Create(program, target, profile, task.settings);
}

// Counts points by the reason that they have no prediction, in the order of their first.
class ReasonCounts {
 public:
  void Add(const std::string& reason) {
    auto [place, is_new] = places_.try_emplace(reason, counts_.size());
    if (is_new) counts_.emplace_back(reason, 0);
    ++counts_[place->second].second;
  }
  const std::vector<std::pair<std::string, size_t>>& counts() const { return counts_; }

 private:
  std::map<std::string, size_t> places_;
  std::vector<std::pair<std::string, size_t>> counts_;
};

}  // namespace

Status ExpectMeasuredOn(const Target& target, const MeasuredTask& task) {
  StatusOr<Target> measured = FindTarget(task.target);
  if (!measured.ok() || measured->kind == target.kind) return OkStatus();
  return InvalidInput("measured on target '{}'; expected a {}", task.target,
                      target.kind == TargetKind::kGpu ? "GPU" : "CPU");
}

StatusOr<SymbolicProgram> ReplaySketch(const MeasuredTask& task, size_t sketch) {
  TCC_ASSIGN_OR_RETURN(Function fn, ParseFunction(task.sketches[sketch].fn));
  TCC_ASSIGN_OR_RETURN(Trace trace, ParseTrace(task.sketches[sketch].trace));
  return Instantiate(fn, trace);
}

StatusOr<Point> PlacePoint(const Decisions& set, const std::vector<FreeSize>& sizes) {
  Point values;
  for (const FreeSize& size : sizes) {
    auto value = set.find(size.var->name);
    if (value == set.end()) return InvalidInput("size '{}' has no value", size.var->name);
    if (!Allows(size, value->second)) {
      return InvalidInput("size '{}' has a value that '{}' does not allow", size.var->name,
                          Print(size));
    }
    values.push_back(value->second);
  }
  return values;
}

std::string PointProblem(const MeasuredTask& task, const std::string& reason, size_t points) {
  size_t all = task.points.size();
  return fmt::format("'{}': {} ({} of {} point{})", task.name, reason, points, all,
                     all == 1 ? "" : "s");
}

TaskFormulas TaskFormulas::Of(const MeasuredTask& task, const Target& target,
                              const DeviceProfile& profile) {
  TaskFormulas result;
  std::vector<Status> statuses;  // of the sketches
  for (size_t s = 0; s < task.sketches.size(); ++s) {
    StatusOr<SketchFormulas> formulas = FormulasOf(task, s, target, profile);
    std::optional<SketchFormulas>& place = result.sketches_.emplace_back();
    statuses.push_back(formulas.status());
    if (formulas.ok()) place = *std::move(formulas);
  }
  ReasonCounts reasons;
  for (const MeasuredPoint& point : task.points) {
    const SketchFormulas* formulas = result.sketch(point.sketch);
    Status status =
        formulas ? PlacePoint(point.set, formulas->sizes()).status() : statuses[point.sketch];
    if (!status.ok()) reasons.Add(Message(status));
  }
  for (const auto& [reason, points] : reasons.counts()) {
    result.problems_.push_back(PointProblem(task, reason, points));
  }
  return result;
}

std::optional<Point> TaskFormulas::PointOf(const MeasuredPoint& point) const {
  const SketchFormulas* formulas = sketch(point.sketch);
  if (!formulas) return std::nullopt;
  StatusOr<Point> values = PlacePoint(point.set, formulas->sizes());
  return values.ok() ? std::optional(*std::move(values)) : std::nullopt;
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

}  // namespace tcc
