#include "search/model/online_training.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "search/model/nearest_ranker.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

constexpr size_t kEvery = OnlineTraining::kTrainEvery;

// A task whose times differ from the prior's by a factor that grows with a sketch's first size.
struct Task {
  explicit Task(std::shared_ptr<const LearnedModel> model = nullptr)
      : estimator(space, SearchTarget(), {}, std::move(model)),
        prior(space, SearchTarget(), {}, {}) {
    Random random(3);
    for (int i = 0; i < 300; ++i) {
      size_t sketch = random.Below(space.size());
      points.push_back({sketch, space.Points(sketch)->Sample(1, random).at(0)});
    }
  }

  double LnSeconds(const SearchPoint& at) {
    double size = std::log2(static_cast<double>(at.point[0]));
    return prior.Rank(at.sketch, {&at.point, 1})[0].ln_seconds + 0.25 * size;
  }
  // Measures the next points.
  void Measure(size_t count, MeasureStatus status = MeasureStatus::kOk) {
    for (; count > 0; --count) {
      const SearchPoint& at = points[next++];
      history.Add({at, status, HasTime(status) ? std::exp(LnSeconds(at)) : 0, "test"});
    }
  }
  // The spread of the estimator's errors at points that were not measured.
  double Spread() {
    double sum = 0, squares = 0;
    std::vector<SearchPoint> unseen(points.end() - 100, points.end());
    std::vector<Prediction> predicted = RankAll(estimator, unseen);
    for (size_t p = 0; p < unseen.size(); ++p) {
      double error = predicted[p].ln_seconds - LnSeconds(unseen[p]);
      sum += error / 100;
      squares += error * error / 100;
    }
    return std::sqrt(squares - sum * sum);
  }

  const Workload workload = ProductWorkload("product");
  TaskSpace space{workload, SearchTarget()};
  TaskHistory history;
  TaskEstimator estimator, prior;
  std::vector<SearchPoint> points;
  size_t next = 0;
};

std::vector<double> LnSeconds(Task& task) {
  std::vector<double> ln_seconds;
  for (const Prediction& prediction : RankAll(task.estimator, task.points)) {
    ln_seconds.push_back(prediction.ln_seconds);
  }
  return ln_seconds;
}

}  // namespace

TEST_CASE("before enough trials have a time the estimator stays", "[search][model]") {
  Task task;
  OnlineTraining training(task.history, task.estimator, 1);
  std::vector<double> before = LnSeconds(task);
  task.Measure(kEvery - 1);
  task.Measure(kEvery, MeasureStatus::kWrong);
  CHECK_FALSE(training.Update());
  CHECK(task.estimator.model() == nullptr);
  CHECK(LnSeconds(task) == before);
  task.Measure(1);
  CHECK(training.Update());
  CHECK_FALSE(training.Update());
  CHECK(task.estimator.model() != nullptr);
  CHECK(LnSeconds(task) != before);
}

TEST_CASE("trials of a task improve expectations of other points", "[search][model]") {
  Task task;
  OnlineTraining training(task.history, task.estimator, 1);
  double before = task.Spread();
  task.Measure(2 * kEvery);
  REQUIRE(training.Update());
  CHECK(task.Spread() < 0.6 * before);
}

TEST_CASE("a training that begins late comes to the same model", "[search][model]") {
  Task early, late;
  OnlineTraining of_early(early.history, early.estimator, 1);
  OnlineTraining of_late(late.history, late.estimator, 1);
  for (size_t trials : {kEvery, kEvery, kEvery - 1}) {
    early.Measure(trials);
    of_early.Update();
    late.Measure(trials);
  }
  CHECK(of_late.Update());
  CHECK(LnSeconds(late) == LnSeconds(early));
}

TEST_CASE("neighbours correct the new model after a training", "[search][model]") {
  Task task;
  NearestRanker ranker(task.space, task.history, &task.estimator);
  OnlineTraining training(task.history, task.estimator, 1);
  task.Measure(kEvery);
  RankAll(ranker, task.points);
  REQUIRE(training.Update());
  ranker.ReadAgain();
  NearestRanker fresh(task.space, task.history, &task.estimator);
  std::vector<Prediction> again = RankAll(ranker, task.points);
  std::vector<Prediction> expected = RankAll(fresh, task.points);
  for (size_t p = 0; p < expected.size(); ++p) {
    CHECK(again[p].ln_seconds == expected[p].ln_seconds);
  }
}
