#include "autodiff_features/learned/member_trainer.h"

#include <algorithm>
#include <cmath>

namespace tcc {
namespace {

constexpr size_t kPointsOfTask = 32;

}  // namespace

std::vector<UsableTask> UsableTasks(std::span<const TrainingTask> tasks) {
  std::vector<UsableTask> result;
  for (const TrainingTask& task : tasks) {
    UsableTask usable;
    for (const TrainingPoint& point : task.points) {
      if (!IsFinite(point.features) || !std::isfinite(point.ln_seconds)) continue;
      bool first = usable.points.empty();
      usable.ln_best = first ? point.ln_seconds : std::min(usable.ln_best, point.ln_seconds);
      usable.points.push_back(&point);
    }
    if (!usable.points.empty()) result.push_back(std::move(usable));
  }
  return result;
}

MemberTrainer::MemberTrainer(std::span<const UsableTask> tasks, const LearnedModel& model,
                             Mlp& member, const Options& options)
    : model_(model),
      member_(member),
      adam_(member.parameters().size(), {.clip = 1, .decay = 1e-5}),
      random_(options.seed),
      tasks_(options.tasks) {
  for (size_t t = 0; t < tasks.size(); ++t) {
    drawn_.push_back(&tasks[random_.Below(tasks.size())]);
    points_ += drawn_.back()->points.size();
  }
}

size_t MemberTrainer::StepsOfEpoch() const {
  return std::max<size_t>(points_ / (tasks_ * kPointsOfTask), 1);
}

double MemberTrainer::Step(double rate) {
  std::vector<const KernelFeatures*> kernels;
  std::vector<std::vector<const TrainingPoint*>> groups;
  std::vector<double> ln_best;
  for (size_t i = 0; i < tasks_; ++i) {
    const UsableTask& task = *drawn_[random_.Below(drawn_.size())];
    groups.push_back(DrawPoints(task));
    ln_best.push_back(task.ln_best);
    for (const TrainingPoint* point : groups.back()) kernels.push_back(&point->features);
  }
  NestBatch batch = BatchOf(model_.scale, kernels);
  std::vector<double> predicted = member_.Forward(batch);
  for (size_t k = 0; k < kernels.size(); ++k) {
    predicted[k] += model_.on_prior ? kernels[k]->ln_prior : model_.ln_mean;
  }
  double loss = 0;
  std::vector<double> seeds;
  double share = 1 / static_cast<double>(groups.size());
  for (size_t g = 0, first = 0; g < groups.size(); first += groups[g++].size()) {
    TaskLoss of_task =
        LossOf(groups[g], ln_best[g], std::span(predicted).subspan(first, groups[g].size()));
    loss += share * of_task.loss;
    for (double slope : of_task.slopes) seeds.push_back(share * slope);
  }
  adam_.Step(member_.parameters(), member_.Backward(batch, seeds).parameters, rate);
  return loss;
}

std::vector<const TrainingPoint*> MemberTrainer::DrawPoints(const UsableTask& task) {
  std::vector<const TrainingPoint*> points;
  for (size_t i = 0; i < kPointsOfTask; ++i) {
    points.push_back(task.points[random_.Below(task.points.size())]);
  }
  return points;
}

}  // namespace tcc
