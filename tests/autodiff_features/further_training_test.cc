#include "autodiff_features/learned/train.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "support/random.h"

namespace tcc {
namespace {

constexpr auto kBodies = static_cast<size_t>(Feature::kBodies);
constexpr auto kSecondsRow = static_cast<size_t>(Feature::kSeconds);

// Points of one nest each. The prior leaves out `share` times ln(1 + bodies).
TrainingTask TaskOf(size_t points, double share, uint64_t seed) {
  Random random(seed);
  TrainingTask task;
  for (size_t p = 0; p < points; ++p) {
    double x = 4 * random.Unit(), ln_prior = -8 + 0.5 * random.Normal();
    TrainingPoint& point = task.points.emplace_back();
    point.features.rows.assign(kNestFeatures, 0);
    point.features.rows[kBodies] = std::expm1(x);
    point.features.rows[kSecondsRow] = std::exp(ln_prior);
    point.features.ln_prior = ln_prior;
    point.ln_seconds = ln_prior + share * x;
    point.noise = 0.01;
  }
  return task;
}

std::vector<double> Predicted(const LearnedModel& model, const TrainingTask& task) {
  std::vector<KernelFeatures> kernels;
  for (const TrainingPoint& point : task.points) kernels.push_back(point.features);
  std::vector<double> ln_seconds;
  for (const LearnedModel::Prediction& at : model.Predict(kernels)) {
    ln_seconds.push_back(at.ln_seconds);
  }
  return ln_seconds;
}

// The spread of a model's errors.
double Spread(const LearnedModel& model, const TrainingTask& task) {
  std::vector<double> predicted = Predicted(model, task);
  auto count = static_cast<double>(predicted.size());
  double mean = 0, squares = 0;
  for (size_t p = 0; p < predicted.size(); ++p) {
    double error = predicted[p] - task.points[p].ln_seconds;
    mean += error / count;
    squares += error * error / count;
  }
  return std::sqrt(squares - mean * mean);
}

}  // namespace

TEST_CASE("Trials of a task teach the prior's model what it leaves out at other points",
          "[autodiff_features]") {
  const TrainingTask trials = TaskOf(48, 0.2, 1), others = TaskOf(100, 0.2, 2);
  const LearnedModel prior = PriorAlone({});
  LearnedModel trained = TrainFurther(prior, trials, {});
  CHECK(trained.members.size() == 3);
  CHECK(trained.on_prior);
  CHECK(Spread(trained, others) < 0.3 * Spread(prior, others));
}

TEST_CASE("A trained model goes on from where it was and keeps its scale", "[autodiff_features]") {
  const TrainingTask before = TaskOf(200, 0.2, 3), trials = TaskOf(64, -0.1, 4);
  const TrainingTask others = TaskOf(100, -0.1, 5);
  LearnedModel first = TrainFurther(PriorAlone({}), before, {.members = 2});
  LearnedModel trained = TrainFurther(first, trials, {.members = 3});
  CHECK(trained.members.size() == 2);
  CHECK(trained.scale.mean == first.scale.mean);
  CHECK(trained.scale.deviation == first.scale.deviation);
  CHECK(Spread(trained, others) < 0.5 * Spread(first, others));
}

TEST_CASE("The same trials and seed train the same model, another seed another one",
          "[autodiff_features]") {
  const TrainingTask trials = TaskOf(40, 0.2, 1);
  const LearnedModel prior = PriorAlone({});
  LearnedModel trained = TrainFurther(prior, trials, {.seed = 7});
  CHECK(Predicted(TrainFurther(prior, trials, {.seed = 7}), trials) == Predicted(trained, trials));
  CHECK(Predicted(TrainFurther(prior, trials, {.seed = 8}), trials) != Predicted(trained, trials));
}

TEST_CASE("Without trials that have finite numbers a model stays", "[autodiff_features]") {
  TrainingTask trials = TaskOf(3, 0.2, 1);
  const TrainingTask others = TaskOf(5, 0.2, 2);
  for (TrainingPoint& point : trials.points) point.ln_seconds = std::nan("");
  const LearnedModel prior = PriorAlone({});
  CHECK(Predicted(TrainFurther(prior, trials, {}), others) == Predicted(prior, others));
  CHECK(Predicted(TrainFurther(prior, {}, {}), others) == Predicted(prior, others));
}

TEST_CASE("One factor everywhere is not learned", "[autodiff_features]") {
  const TrainingTask trials = TaskOf(40, 0.2, 1), others = TaskOf(20, 0.2, 2);
  TrainingTask slower = trials;
  for (TrainingPoint& point : slower.points) point.ln_seconds += 5;
  std::vector<double> expected = Predicted(TrainFurther(PriorAlone({}), trials, {}), others);
  std::vector<double> predicted = Predicted(TrainFurther(PriorAlone({}), slower, {}), others);
  for (size_t p = 0; p < expected.size(); ++p) {
    CHECK(predicted[p] == Approx(expected[p]).margin(1e-3));
  }
}

TEST_CASE("Training claims no more than the bound of a network", "[autodiff_features]") {
  const TrainingTask trials = TaskOf(40, 10, 1);
  LearnedModel trained = TrainFurther(PriorAlone({}), trials, {.steps = 1000});
  std::vector<double> predicted = Predicted(trained, trials);
  double most = 0;
  for (size_t p = 0; p < predicted.size(); ++p) {
    most = std::max(most, std::abs(predicted[p] - trials.points[p].features.ln_prior));
  }
  CHECK(most > 1);
  CHECK(most <= 2);
}

}  // namespace tcc
