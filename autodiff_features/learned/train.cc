#include "autodiff_features/learned/train.h"

#include <algorithm>
#include <cmath>

#include "autodiff_features/learned/member_trainer.h"
#include "autodiff_features/learned/robust_loss.h"

namespace tcc {
namespace {

constexpr double kPairWeight = 0.5;
constexpr double kPairScale = 0.1;
const double kLnPairsWithin = std::log(10.0);
constexpr size_t kTasksOfBatch = 8;
constexpr double kFirstRate = 1e-3, kLastRate = 1e-5;
constexpr double kBoundAlone = 16;  // how far members may go from the mean without a prior

double NoiseOf(const TrainingPoint& point) {
  return point.precise ? point.noise : std::max(point.noise, kRoughNoise);
}

double Softplus(double x) {
  return x > 30 ? x : std::log1p(std::exp(x));
}

void AddPairs(std::span<const TrainingPoint* const> points, double ln_best,
              std::span<const double> predicted, TaskLoss& result) {
  std::vector<std::pair<size_t, size_t>> pairs;  // the slower one first
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = 0; j < points.size(); ++j) {
      double apart = points[i]->ln_seconds - points[j]->ln_seconds;
      bool counts = apart > NoiseOf(*points[i]) + NoiseOf(*points[j]) &&
                    points[i]->ln_seconds - ln_best < kLnPairsWithin;
      if (counts) pairs.emplace_back(i, j);
    }
  }
  for (const auto& [slower, faster] : pairs) {
    double share = kPairWeight / static_cast<double>(pairs.size());
    double x = -(predicted[slower] - predicted[faster]) / kPairScale;
    result.loss += share * kPairScale * Softplus(x);
    double slope = share / (1 + std::exp(-x));
    result.slopes[slower] -= slope;
    result.slopes[faster] += slope;
  }
}

// Rounds to what the model file keeps.
void RoundToFloats(std::vector<double>& values) {
  for (double& value : values) value = static_cast<double>(static_cast<float>(value));
}

// A row that hardly differs among the points must not reach far beyond them.
constexpr double kMinDeviation = 0.25;

TrainingTask FinitePoints(const TrainingTask& task) {
  TrainingTask finite{.key = task.key, .points = {}};
  for (const TrainingPoint& point : task.points) {
    if (IsFinite(point.features) && std::isfinite(point.ln_seconds)) finite.points.push_back(point);
  }
  return finite;
}

std::vector<KernelFeatures> KernelsOf(const TrainingTask& task) {
  std::vector<KernelFeatures> kernels;
  for (const TrainingPoint& point : task.points) kernels.push_back(point.features);
  return kernels;
}

// Subtracts the mean error of the model.
void Centre(const LearnedModel& model, TrainingTask& task) {
  std::vector<LearnedModel::Prediction> predicted = model.Predict(KernelsOf(task));
  double sum = 0;
  for (size_t p = 0; p < predicted.size(); ++p) {
    sum += task.points[p].ln_seconds - predicted[p].ln_seconds;
  }
  double mean = sum / static_cast<double>(predicted.size());
  for (TrainingPoint& point : task.points) point.ln_seconds -= mean;
}

void AddMembers(const TrainingTask& task, const FurtherTraining& options, LearnedModel& model) {
  model.on_prior = true;
  model.scale = FeatureScale::Of(model.kind(), KernelsOf(task));
  for (double& deviation : model.scale.deviation) deviation = std::max(deviation, kMinDeviation);
  for (int m = 0; m < options.members; ++m) {
    uint64_t seed = options.seed + static_cast<uint64_t>(m);
    model.members.push_back(Mlp::Drawn(model.scale.mean.size(), seed, kBoundOnPrior));
  }
}

}  // namespace

bool IsFinite(const KernelFeatures& kernel) {
  return std::isfinite(kernel.ln_prior) &&
         std::ranges::all_of(kernel.rows, [](double x) { return std::isfinite(x); });
}

TaskLoss LossOf(std::span<const TrainingPoint* const> points, double ln_best,
                std::span<const double> predicted) {
  TaskLoss result;
  result.slopes.assign(points.size(), 0.0);
  for (size_t i = 0; i < points.size(); ++i) {
    double off = predicted[i] - points[i]->ln_seconds;
    double speed = std::exp(ln_best - points[i]->ln_seconds);
    double weight = PointWeight(speed, points[i]->precise) / static_cast<double>(points.size());
    result.loss += weight * HuberLoss(off);
    result.slopes[i] += weight * HuberSlope(off);
  }
  AddPairs(points, ln_best, predicted, result);
  return result;
}

StatusOr<LearnedModel> Train(std::span<const TrainingTask> tasks, const DeviceProfile& profile,
                             const TrainOptions& options) {
  std::vector<UsableTask> usable = UsableTasks(tasks);
  std::vector<KernelFeatures> kernels;
  double sum = 0;
  for (const UsableTask& task : usable) {
    for (const TrainingPoint* point : task.points) {
      kernels.push_back(point->features);
      sum += point->ln_seconds;
    }
  }
  size_t points = 0;
  for (const TrainingTask& task : tasks) points += task.points.size();
  if (options.left_out && points > kernels.size()) options.left_out(points - kernels.size());
  if (kernels.empty()) return InvalidInput("training: expected measured points, got none");
  LearnedModel model;
  model.profile = profile;
  model.on_prior = options.on_prior;
  model.ln_mean = options.on_prior ? 0 : sum / static_cast<double>(kernels.size());
  model.scale = FeatureScale::Of(model.kind(), kernels);
  RoundToFloats(model.scale.mean);
  RoundToFloats(model.scale.deviation);
  double bound = options.on_prior ? kBoundOnPrior : kBoundAlone;
  for (int m = 0; m < options.members; ++m) {
    uint64_t seed = options.seed + static_cast<uint64_t>(m);
    Mlp member = Mlp::Drawn(model.scale.mean.size(), seed, bound);
    MemberTrainer trainer(usable, model, member, {.tasks = kTasksOfBatch, .seed = seed});
    size_t steps = trainer.StepsOfEpoch();
    for (int epoch = 0; epoch < options.epochs; ++epoch) {
      double loss = 0;
      for (size_t step = 0; step < steps; ++step) {
        double done = epoch + static_cast<double>(step) / static_cast<double>(steps);
        loss += trainer.Step(CosineRate(kFirstRate, kLastRate, done / options.epochs));
      }
      if (options.progress) options.progress(m, epoch, loss / static_cast<double>(steps));
    }
    RoundToFloats(member.parameters());
    model.members.push_back(std::move(member));
  }
  return model;
}

LearnedModel TrainFurther(const LearnedModel& model, const TrainingTask& task,
                          const FurtherTraining& options) {
  LearnedModel trained = model;
  TrainingTask finite = FinitePoints(task);
  if (finite.points.empty()) return trained;
  Centre(model, finite);
  if (trained.members.empty()) AddMembers(finite, options, trained);
  std::vector<UsableTask> usable = UsableTasks({&finite, 1});
  for (size_t m = 0; m < trained.members.size(); ++m) {
    MemberTrainer trainer(usable, trained, trained.members[m], {.seed = options.seed + m});
    for (int step = 0; step < options.steps; ++step) {
      double progress = static_cast<double>(step) / options.steps;
      trainer.Step(CosineRate(options.first_rate, options.last_rate, progress));
    }
  }
  return trained;
}

}  // namespace tcc
