#include "autodiff_features/measured_tasks.h"

#include <algorithm>

#include "support/sha256.h"

namespace tcc {

double MeasuredTask::BestSeconds() const {
  double best = 0;
  for (const MeasuredPoint& point : points) {
    if (point.seconds > 0 && (best == 0 || point.seconds < best)) best = point.seconds;
  }
  return best;
}

bool IsKnownPolicy(const std::string& policy) {
  return policy == "warm" || policy == "rotate-weights-64M" || policy == "rotate-64M" ||
         policy == "in-place";
}

RunSettings SettingsOf(const std::string& policy, int threads) {
  bool all = policy == "rotate-64M";
  bool weights = all || policy == "rotate-weights-64M" || policy == "in-place";
  return {.threads = threads, .cold_weights = weights, .cold_activations = all};
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
