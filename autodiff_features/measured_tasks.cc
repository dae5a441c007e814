#include "autodiff_features/measured_tasks.h"

#include <algorithm>

#include "support/sha256.h"

namespace tcc {
namespace {

// How operands lie when kernels are timed by a policy (MeasurePolicy, and one of older records).
struct PolicyRow {
  std::string_view name;
  bool cold_weights = false, cold_activations = false;
};
constexpr PolicyRow kPolicies[] = {{"warm", false, false},     {"in-place", true, false},
                                   {"rotate-64M", true, true}, {"rotate-weights-64M", true, false},
                                   {"rotate-L2", true, true},  {"rotate-weights-L2", true, false}};

}  // namespace

double MeasuredTask::BestSeconds() const {
  double best = 0;
  for (const MeasuredPoint& point : points) {
    if (point.seconds > 0 && (best == 0 || point.seconds < best)) best = point.seconds;
  }
  return best;
}

bool IsKnownPolicy(const std::string& policy) {
  return std::ranges::find(kPolicies, policy, &PolicyRow::name) != std::end(kPolicies);
}

RunSettings SettingsOf(const std::string& policy, int threads) {
  RunSettings settings{.threads = threads};
  const PolicyRow* row = std::ranges::find(kPolicies, policy, &PolicyRow::name);
  if (row == std::end(kPolicies)) return settings;
  settings.cold_weights = row->cold_weights;
  settings.cold_activations = row->cold_activations;
  return settings;
}

size_t MeasuredTasks::Add(const MeasuredRecord& record) {
  size_t task = TaskOf(record);
  size_t sketch = SketchOf(task, record);
  tasks_[task].points.push_back({.record = records_,
                                 .sketch = sketch,
                                 .set = record.set,
                                 .seconds = record.seconds,
                                 .noise = record.noise,
                                 .precise = record.precise,
                                 .constructed = record.constructed});
  return records_++;
}

size_t MeasuredTasks::TaskOf(const MeasuredRecord& record) {
  std::vector<std::string> key = {record.target, record.device, std::to_string(record.threads),
                                  record.policy, record.task};
  auto [place, is_new] = places_.try_emplace(std::move(key), tasks_.size());
  if (is_new) {
    MeasuredTask& task = tasks_.emplace_back();
    task.key = record.task;
    task.name = record.name;
    task.settings = SettingsOf(record.policy, record.threads);
    task.policy = record.policy;
    task.target = record.target;
    task.device = record.device;
    sketch_places_.emplace_back();
  }
  return place->second;
}

size_t MeasuredTasks::SketchOf(size_t task, const MeasuredRecord& record) {
  std::vector<MeasuredSketch>& sketches = tasks_[task].sketches;
  auto [place, is_new] =
      sketch_places_[task].try_emplace(record.fn + "\n" + record.trace, sketches.size());
  if (is_new) sketches.push_back({record.fn, record.trace});
  return place->second;
}

bool IsHeldOut(const MeasuredTask& task, double held_out) {
  Sha256Digest digest = Sha256(task.key);
  double place = (digest[0] * 256 + digest[1]) / 65536.0;
  return place < held_out;
}

}  // namespace tcc
