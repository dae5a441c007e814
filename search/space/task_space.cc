#include "search/space/task_space.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "autodiff_features/faster_start.h"
#include "schedule/sketches/schedule_choice.h"
#include "support/check.h"

namespace tcc {

TaskSpace::TaskSpace(const Workload& workload, const Target& target,
                     std::span<const SketchRule> rules)
    : workload_(&workload), target_(target) {
  if (rules.empty()) rules = SketchRules(target);
  std::set<std::pair<std::string, std::string>> seen;  // variants may be equal
  for (Sketch& sketch : AllSketches(workload, target, rules)) {
    if (!seen.emplace(workload.variant_keys[sketch.variant], Print(sketch.trace)).second) continue;
    Add(std::move(sketch));
  }
}

TaskSpace::TaskSpace(const Workload& workload, const Target& target, std::vector<Sketch> sketches)
    : workload_(&workload), target_(target) {
  for (Sketch& sketch : sketches) Add(std::move(sketch));
}

void TaskSpace::Add(Sketch sketch) {
  std::string text = Print(sketch.trace);
  sketches_.push_back({.sketch = std::move(sketch), .text = std::move(text)});
}

const SearchSpace* TaskSpace::Points(size_t sketch) {
  Entry& entry = sketches_[sketch];
  if (!entry.instantiated) {
    entry.instantiated = true;
    const Function& fn = workload_->variants[entry.sketch.variant];
    StatusOr<std::shared_ptr<const LimitedProgram>> limited =
        WithinLimits(fn, target_, entry.sketch);
    if (limited.ok()) entry.limited = *std::move(limited);
    if (!entry.limited) entry.live = false;
  }
  return entry.limited ? &entry.limited->points : nullptr;
}

const SymbolicProgram* TaskSpace::Program(size_t sketch) {
  return Points(sketch) ? &sketches_[sketch].limited->program : nullptr;
}

std::optional<SearchPoint> TaskSpace::Start(size_t sketch) {
  const SearchSpace* points = Points(sketch);
  if (!points) return std::nullopt;
  return SearchPoint{sketch, points->ToPoint(sketches_[sketch].sketch.start)};
}

std::vector<size_t> TaskSpace::ByDefault() const {
  std::vector<Sketch> sketches;
  for (const Entry& entry : sketches_) sketches.push_back(entry.sketch);
  std::vector<size_t> order(sketches.size());
  std::iota(order.begin(), order.end(), 0);
  if (!TakesFasterStarts(target_)) return order;
  const auto faster = static_cast<ptrdiff_t>(FasterStart(*workload_, sketches, target_));
  std::rotate(order.begin(), order.begin() + faster, order.begin() + faster + 1);
  return order;
}

Candidate TaskSpace::ToCandidate(const SearchPoint& point) {
  const SearchSpace* points = Points(point.sketch);
  TCC_CHECK(points != nullptr) << workload_->name;
  const Sketch& sketch = sketches_[point.sketch].sketch;
  return {.schedule = {.trace = sketch.trace,
                       .decisions = points->ToDecisions(point.point),
                       .variant = sketch.variant},
          .rules = sketch.name};
}

std::optional<SearchPoint> TaskSpace::Find(const std::string& variant_key,
                                           const Schedule& schedule) {
  std::string text = Print(schedule.trace);
  for (size_t s = 0; s < sketches_.size(); ++s) {
    if (sketches_[s].text != text) continue;
    if (workload_->variant_keys[sketches_[s].sketch.variant] != variant_key) continue;
    const SearchSpace* points = Points(s);
    if (!points) return std::nullopt;
    Point point = points->ToPoint(schedule.decisions);
    if (points->ToDecisions(point) != schedule.decisions) return std::nullopt;
    if (!points->IsLegal(point)) return std::nullopt;
    return SearchPoint{s, std::move(point)};
  }
  return std::nullopt;
}

void TaskSpace::Retire(size_t sketch) {
  sketches_[sketch].live = false;
}

std::vector<size_t> TaskSpace::live() const {
  std::vector<size_t> live;
  for (size_t s = 0; s < sketches_.size(); ++s) {
    if (sketches_[s].live) live.push_back(s);
  }
  return live;
}

}  // namespace tcc
