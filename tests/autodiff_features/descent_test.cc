#include "autodiff_features/descent.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "autodiff_features/learned/train.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

// A sketch of a function with all that a descent needs.
struct Problem {
  SymbolicProgram program;
  SearchSpace space;
  SketchFormulas formulas;
  SketchSlopes slopes;

  static Problem Of(const Function& fn, const Sketch& sketch, const Target& target) {
    SymbolicProgram program = ProgramOf(fn, target, sketch);
    SearchSpace space = SearchSpace::Create(program).value();
    SketchFormulas formulas =
        SketchFormulas::Create(program, target, DeviceProfileOf(target), {.threads = 2}).value();
    SketchSlopes slopes = SketchSlopes::Create(formulas, space.constraints()).value();
    return {program, std::move(space), std::move(formulas), std::move(slopes)};
  }

  std::vector<double> operator()(std::span<const Point> points) const {
    return formulas.LnSecondsAt(points);
  }
};

Function Product() {
  return ProductFunction(
      {.rows = 197, .columns = 96, .depth = 64, .type = "f32", .constant = true});
}

PointTable LogsOf(const Problem& problem, std::span<const Point> points) {
  PointTable logs(problem.slopes.sizes(), points.size());
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t s = 0; s < logs.columns(); ++s) {
      logs.at(s, p) = std::log(static_cast<double>(points[p][s]));
    }
  }
  return logs;
}

// A model that was trained on noise: its slopes count, not what it says.
LearnedModel SomeModel(const Problem& problem, const Target& target) {
  Random random(3);
  std::vector<Point> points = problem.space.Sample(60, random);
  TrainingTask task;
  for (const KernelFeatures& kernel : FeaturesAt(problem.formulas, points)) {
    task.points.push_back(
        {.features = kernel, .ln_seconds = kernel.ln_prior + 0.5 * random.Normal(), .noise = 0.01});
  }
  TrainOptions options;
  options.members = 2;
  options.epochs = 60;
  return Train({&task, 1}, DeviceProfileOf(target), options).value();
}

// Compares slopes with central differences of the cost and of the penalty.
void CheckSlopes(const Problem& problem, const PointTable& logs, double width,
                 const LearnedModel* model) {
  constexpr double kStep = 1e-6;
  SketchSlopes::Result at = problem.slopes.At(logs, width, model, 1);
  for (size_t s = 0; s < logs.columns(); ++s) {
    PointTable above = logs, below = logs;
    for (size_t p = 0; p < logs.points(); ++p) {
      above.at(s, p) += kStep;
      below.at(s, p) -= kStep;
    }
    SketchSlopes::Result up = problem.slopes.At(above, width, model, 1);
    SketchSlopes::Result down = problem.slopes.At(below, width, model, 1);
    for (size_t p = 0; p < logs.points(); ++p) {
      double cost = (up.ln_seconds[p] - down.ln_seconds[p]) / (2 * kStep);
      double penalty = (up.penalty[p] - down.penalty[p]) / (2 * kStep);
      CHECK(at.cost_slopes.at(s, p) == Approx(cost).epsilon(1e-4).margin(1e-6));
      CHECK(at.penalty_slopes.at(s, p) == Approx(penalty).epsilon(1e-4).margin(1e-6));
    }
  }
}

}  // namespace

TEST_CASE("Slopes of predictions and penalties are those of finite differences",
          "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  for (const Function& fn : {Product(), ConvFunction({}), SoftmaxByBlocks(12, 50)}) {
    for (const Sketch& sketch : GenerateSketches(fn, target)) {
      INFO(sketch.name);
      Problem problem = Problem::Of(fn, sketch, target);
      Random random(11);
      std::vector<Point> points = problem.space.Sample(12, random);
      PointTable logs = LogsOf(problem, points);
      // Off the integers, and beyond limits now and then.
      for (size_t s = 0; s < logs.columns(); ++s) {
        for (size_t p = 0; p < logs.points(); ++p) logs.at(s, p) += 0.4 * random.Unit();
      }
      LearnedModel model = SomeModel(problem, target);
      for (double width : {0.5, 0.1}) {
        CheckSlopes(problem, logs, width, nullptr);
        CheckSlopes(problem, logs, width, &model);
      }
    }
  }
}

TEST_CASE("Slopes of predictions for a GPU are those of finite differences",
          "[autodiff_features]") {
  Target target = *FindTarget("sm_86");
  for (const Function& fn : {Product(), ConvFunction({}), SoftmaxByBlocks(12, 50)}) {
    for (const Sketch& sketch : GenerateSketches(fn, target)) {
      INFO(sketch.name);
      Problem problem = Problem::Of(fn, sketch, target);
      Random random(11);
      PointTable logs = LogsOf(problem, problem.space.Sample(6, random));
      for (size_t s = 0; s < logs.columns(); ++s) {
        for (size_t p = 0; p < logs.points(); ++p) logs.at(s, p) += 0.4 * random.Unit();
      }
      LearnedModel model = SomeModel(problem, target);
      for (double width : {0.5, 0.1}) {
        CheckSlopes(problem, logs, width, nullptr);
        CheckSlopes(problem, logs, width, &model);
      }
    }
  }
}

TEST_CASE("A descent returns legal points, none slower than its best seed", "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  Function fn = Product();
  for (const Sketch& sketch : GenerateSketches(fn, target)) {
    INFO(sketch.name);
    Problem problem = Problem::Of(fn, sketch, target);
    Random random(5);
    std::vector<Point> seeds = problem.space.Sample(8, random);
    std::vector<double> of_seeds = problem(seeds);
    DescentResult result = Descend(problem.slopes, problem.space, seeds, problem, {}, random);
    REQUIRE_FALSE(result.best.empty());
    CHECK(result.best[0].ln_seconds <= *std::ranges::min_element(of_seeds));
    for (size_t i = 0; i < result.best.size(); ++i) {
      CHECK(problem.space.IsLegal(result.best[i].point));
      CHECK(problem({&result.best[i].point, 1})[0] == result.best[i].ln_seconds);
      if (i > 0) CHECK(result.best[i - 1].ln_seconds <= result.best[i].ln_seconds);
    }
  }
}

TEST_CASE("A descent finds what thousands of random points do not beat", "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  Function fn = Product();
  Sketch sketch = GenerateSketches(fn, target)[0];
  Problem problem = Problem::Of(fn, sketch, target);
  Random random(9);
  std::vector<Point> drawn = problem.space.Sample(3000, random);
  std::vector<double> of_drawn = problem(drawn);
  std::vector<Point> seeds(drawn.begin(), drawn.begin() + 16);
  DescentResult result = Descend(problem.slopes, problem.space, seeds, problem, {}, random);
  CHECK(result.evaluations < 3000);
  CHECK(result.best[0].ln_seconds <= *std::ranges::min_element(of_drawn) + 0.01);
}

TEST_CASE("A descent is the same for the same seed", "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  Function fn = Product();
  Problem problem = Problem::Of(fn, GenerateSketches(fn, target)[0], target);
  auto run = [&] {
    Random random(21);
    std::vector<Point> seeds = problem.space.Sample(4, random);
    DescentOptions options;
    options.steps = 30;
    return Descend(problem.slopes, problem.space, seeds, problem, options, random).best;
  };
  std::vector<RankedPoint> first = run(), second = run();
  REQUIRE(first.size() == second.size());
  for (size_t i = 0; i < first.size(); ++i) CHECK(first[i].point == second[i].point);
}

TEST_CASE("Polishing ends at a point that no move improves", "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  Function fn = Product();
  Problem problem = Problem::Of(fn, GenerateSketches(fn, target)[0], target);
  Random random(2);
  Point seed = *problem.space.Sample(random);
  int64_t used = 0;
  RankedPoint polished =
      Polish(problem.space, {problem({&seed, 1})[0], seed}, problem, 100'000, used);
  std::vector<Point> moves = PolishMoves(problem.space, polished.point);
  REQUIRE_FALSE(moves.empty());
  CHECK(used > std::ssize(moves));
  for (const Point& move : moves) {
    CHECK(problem.space.IsLegal(move));
    CHECK(problem({&move, 1})[0] >= polished.ln_seconds);
  }
}

}  // namespace tcc
