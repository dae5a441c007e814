#include "search/model/nearest_ranker.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "search/model/task_estimator.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

// A sketch with one size of 1 to 64.
Sketch SketchOf(size_t variant) {
  return {.name = "tiled",
          .variant = variant,
          .trace = ParseTrace("tile b0.i0.1 1 64\nsplit b0/i0 [b0.i0.1]\n").value(),
          .start = {{"b0.i0.1", 8}}};
}

// Expects ln seconds to rise by 0.3 per doubling; knows nothing of some sketches.
class RisingRanker final : public Ranker {
 public:
  explicit RisingRanker(std::set<size_t> unknown = {}) : unknown_(std::move(unknown)) {}

  std::vector<Prediction> Rank(size_t sketch, std::span<const Point> points) override {
    ++calls;
    std::vector<Prediction> predictions(points.size());
    if (unknown_.contains(sketch)) return predictions;
    for (size_t p = 0; p < points.size(); ++p) {
      double doublings = std::log2(static_cast<double>(points[p][0]));
      predictions[p] = {-10 + 0.3 * doublings + 0.5 * static_cast<double>(sketch), 0.1};
    }
    return predictions;
  }

  int calls = 0;

 private:
  std::set<size_t> unknown_;
};

// Two sketches of one variant and one of another.
struct Task {
  void Add(size_t sketch, int64_t size, double ln_seconds,
           MeasureStatus status = MeasureStatus::kOk) {
    history.Add({{sketch, {size}}, status, std::exp(ln_seconds), "test"});
  }

  const Workload workload = WithVariants({SmallWorkload(64), SmallWorkload(128)}, 0);
  TaskSpace space{workload, SearchTarget(),
                  std::vector<Sketch>{SketchOf(0), SketchOf(0), SketchOf(1)}};
  TaskHistory history;
};

const std::vector<Point> kSizes = {{1}, {2}, {4}, {8}, {16}, {32}, {64}};

std::vector<double> LnSeconds(Ranker& ranker, size_t sketch) {
  std::vector<double> ln_seconds;
  for (const Prediction& prediction : ranker.Rank(sketch, kSizes)) {
    ln_seconds.push_back(prediction.ln_seconds);
  }
  return ln_seconds;
}

}  // namespace

TEST_CASE("nothing is known without trials and without a base", "[search][model]") {
  Task task;
  NearestRanker ranker(task.space, task.history, nullptr);
  for (size_t sketch = 0; sketch < 3; ++sketch) {
    for (double ln_seconds : LnSeconds(ranker, sketch)) CHECK(std::isnan(ln_seconds));
  }
  CHECK(ranker.predictions() == 3 * std::ssize(kSizes));
  CHECK(ranker.Rank(0, {}).empty());
}

TEST_CASE("without trials the base stands as it is", "[search][model]") {
  Task task;
  RisingRanker base;
  NearestRanker ranker(task.space, task.history, &base);
  for (size_t sketch = 0; sketch < 3; ++sketch) {
    std::vector<Prediction> expected = base.Rank(sketch, kSizes);
    std::vector<Prediction> predicted = ranker.Rank(sketch, kSizes);
    REQUIRE(predicted.size() == expected.size());
    for (size_t p = 0; p < expected.size(); ++p) {
      CHECK(predicted[p].ln_seconds == expected[p].ln_seconds);
      CHECK(predicted[p].deviation == expected[p].deviation);
    }
  }
}

TEST_CASE("a measured point is expected near its time, points between by their distance",
          "[search][model]") {
  Task task;
  NearestRanker ranker(task.space, task.history, nullptr);
  task.Add(0, 1, -10);
  task.Add(0, 64, -5);
  std::vector<double> own = LnSeconds(ranker, 0);
  CHECK(std::abs(own[0] - -10) < 0.1);
  CHECK(std::abs(own[6] - -5) < 0.1);
  CHECK(own[3] == Approx(-7.5));
  for (size_t p = 0; p + 1 < own.size(); ++p) CHECK(own[p] < own[p + 1]);
  // The same size in another sketch of the variant is less near.
  std::vector<double> sibling = LnSeconds(ranker, 1);
  CHECK(sibling[0] > own[0]);
  CHECK(sibling[0] < -7.5);
  CHECK(sibling[3] == Approx(-7.5));
}

TEST_CASE("trials that come later are learnt from", "[search][model]") {
  Task task;
  NearestRanker ranker(task.space, task.history, nullptr);
  task.Add(0, 1, -10);
  for (double ln_seconds : LnSeconds(ranker, 0)) CHECK(ln_seconds == Approx(-10));
  task.Add(0, 64, -5);
  CHECK(std::abs(LnSeconds(ranker, 0)[6] - -5) < 0.1);
}

TEST_CASE("without a base trials of other variants give their mean alone", "[search][model]") {
  Task task;
  NearestRanker ranker(task.space, task.history, nullptr);
  task.Add(0, 1, -10);
  task.Add(1, 64, -5);
  task.Add(0, 4, -9);
  for (double ln_seconds : LnSeconds(ranker, 2)) CHECK(ln_seconds == Approx(-8));
}

TEST_CASE("a base that is wrong by one factor everywhere is put right everywhere",
          "[search][model]") {
  Task task;
  RisingRanker base;
  NearestRanker ranker(task.space, task.history, &base);
  const double factor = std::log(3);
  for (int64_t size : {1, 8, 48}) {
    for (size_t sketch : {0, 1}) {
      const std::vector<Point> point = {{size}};
      task.Add(sketch, size, base.Rank(sketch, point)[0].ln_seconds + factor);
    }
  }
  for (size_t sketch = 0; sketch < 3; ++sketch) {
    std::vector<double> expected = LnSeconds(base, sketch), predicted = LnSeconds(ranker, sketch);
    for (size_t p = 0; p < kSizes.size(); ++p) {
      CHECK(predicted[p] == Approx(expected[p] + factor));
    }
  }
}

TEST_CASE("over a base, errors near a point count more than errors far away", "[search][model]") {
  Task task;
  RisingRanker base;
  NearestRanker ranker(task.space, task.history, &base);
  std::vector<double> expected = LnSeconds(base, 0);
  task.Add(0, 1, expected[0] + 1);
  task.Add(0, 64, expected[6] - 1);
  std::vector<double> predicted = LnSeconds(ranker, 0);
  CHECK(predicted[0] == Approx(expected[0] + 1).margin(0.1));
  CHECK(predicted[3] == Approx(expected[3]));
  CHECK(predicted[6] == Approx(expected[6] - 1).margin(0.1));
}

TEST_CASE("where the base knows nothing of a sketch its neighbours are asked", "[search][model]") {
  Task task;
  RisingRanker base({1});
  NearestRanker over(task.space, task.history, &base);
  NearestRanker alone(task.space, task.history, nullptr);
  SECTION("trials of a sketch that the base knows") {
    task.Add(0, 1, -12);
    task.Add(0, 64, -5);
    CHECK(LnSeconds(over, 1) == LnSeconds(alone, 1));
    CHECK(LnSeconds(over, 0) != LnSeconds(alone, 0));
  }
  SECTION("trials of the sketch that it does not know") {
    task.Add(1, 1, -12);
    task.Add(1, 64, -5);
    CHECK(LnSeconds(over, 1) == LnSeconds(alone, 1));
    CHECK(LnSeconds(over, 0) == LnSeconds(base, 0));
  }
}

TEST_CASE("trials without a time teach nothing", "[search][model]") {
  for (MeasureStatus status :
       {MeasureStatus::kRefused, MeasureStatus::kBuildFailed, MeasureStatus::kWrong,
        MeasureStatus::kHang, MeasureStatus::kFault}) {
    INFO(NameOf(status));
    Task task;
    RisingRanker base;
    NearestRanker alone(task.space, task.history, nullptr);
    NearestRanker over(task.space, task.history, &base);
    task.Add(0, 8, -3, status);
    task.history.Add({{0, {4}}, MeasureStatus::kOk, 0, "test"});
    for (double ln_seconds : LnSeconds(alone, 0)) CHECK(std::isnan(ln_seconds));
    CHECK(LnSeconds(over, 0) == LnSeconds(base, 0));
  }
}

TEST_CASE("a trial that was stopped for being slow teaches its time", "[search][model]") {
  Task task;
  NearestRanker ranker(task.space, task.history, nullptr);
  task.Add(0, 8, -3, MeasureStatus::kSlow);
  CHECK(LnSeconds(ranker, 0)[3] == Approx(-3));
}

TEST_CASE("the deviation grows with the distance from what was measured", "[search][model]") {
  Task task;
  RisingRanker base;
  for (Ranker* under : {static_cast<Ranker*>(nullptr), static_cast<Ranker*>(&base)}) {
    TaskHistory history;
    NearestRanker ranker(task.space, history, under);
    history.Add({{0, {1}}, MeasureStatus::kOk, 1e-4, "test"});
    std::vector<Prediction> own = ranker.Rank(0, kSizes), sibling = ranker.Rank(1, kSizes);
    for (size_t p = 0; p + 1 < kSizes.size(); ++p) {
      CHECK(own[p].deviation < own[p + 1].deviation);
      CHECK(own[p].deviation < sibling[p].deviation);
    }
    CHECK(own[0].deviation >= (under ? 0.1 : 0));
  }
}

TEST_CASE("points of several sketches are ranked in their order", "[search][model]") {
  RisingRanker ranker({1});
  const std::vector<SearchPoint> points = {{2, {8}},  {0, {1}}, {1, {4}},
                                           {0, {64}}, {2, {2}}, {0, {1}}};
  std::vector<Prediction> predictions = RankAll(ranker, points);
  CHECK(ranker.calls == 3);
  REQUIRE(predictions.size() == points.size());
  for (size_t p = 0; p < points.size(); ++p) {
    double expected = ranker.Rank(points[p].sketch, {&points[p].point, 1})[0].ln_seconds;
    if (points[p].sketch == 1) {
      CHECK(std::isnan(predictions[p].ln_seconds));
    } else {
      CHECK(predictions[p].ln_seconds == expected);
    }
  }
  CHECK(RankAll(ranker, {}).empty());
}

TEST_CASE("the estimator of a task predicts what its formulas do", "[search][model]") {
  const Workload workload = ProductWorkload("product");
  TaskSpace space(workload, SearchTarget());
  TaskEstimator estimator(space, SearchTarget(), {}, nullptr);
  CHECK(estimator.model() == nullptr);
  Random random(2);
  for (size_t sketch = 0; sketch < space.size(); ++sketch) {
    std::vector<Point> points = space.Points(sketch)->Sample(10, random);
    const SketchFormulas* formulas = estimator.Formulas(sketch);
    REQUIRE(formulas != nullptr);
    CHECK(estimator.Formulas(sketch) == formulas);
    const SketchSlopes* slopes = estimator.Slopes(sketch);
    REQUIRE(slopes != nullptr);
    CHECK(slopes->sizes() == space.Points(sketch)->sizes().size());
    std::vector<double> expected = formulas->LnSecondsAt(points);
    std::vector<Prediction> predicted = estimator.Rank(sketch, points);
    REQUIRE(predicted.size() == points.size());
    for (size_t p = 0; p < points.size(); ++p) {
      CHECK(std::isfinite(predicted[p].ln_seconds));
      CHECK(predicted[p].ln_seconds == expected[p]);
    }
  }
}

TEST_CASE("for a GPU the estimator of a task has the prior of each sketch", "[search][model]") {
  const Workload workload = ProductWorkload("product");
  const Target target = FindTarget("sm_86").value();
  TaskSpace space(workload, target);
  REQUIRE(space.size() > 0);
  TaskEstimator estimator(space, target, {}, nullptr);
  for (size_t sketch = 0; sketch < space.size(); ++sketch) {
    CHECK(estimator.Formulas(sketch) != nullptr);
    CHECK(estimator.Slopes(sketch) != nullptr);
    const std::vector<Point> points(2, space.Start(sketch).value().point);
    std::vector<Prediction> predicted = estimator.Rank(sketch, points);
    REQUIRE(predicted.size() == 2);
    for (const Prediction& prediction : predicted) CHECK(std::isfinite(prediction.ln_seconds));
  }
}
