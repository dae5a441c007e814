#include "autodiff_features/fit_prior.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "autodiff_features/features/sketch_formulas.h"
#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

std::vector<Function> Kernels() {
  return {
      ProductFunction({.rows = 64, .columns = 96, .depth = 64, .type = "f32", .constant = true}),
      ProductFunction({.rows = 2, .columns = 512, .depth = 700, .type = "f32"}),
      SoftmaxByBlocks(64, 200)};
}

// Points of every sketch of some kernels, "measured" by the prior with other constants.
std::vector<MeasuredTask> TasksOf(const DeviceProfile& truth, const Target& target,
                                  const std::vector<Function>& kernels = Kernels(),
                                  size_t most_sketches = 100) {
  Random random(8);
  std::vector<MeasuredTask> tasks;
  for (const Function& fn : kernels) {
    MeasuredTask& task = tasks.emplace_back();
    task.key = Print(fn);
    task.settings = {.threads = 1, .cold_weights = true, .cold_activations = true};
    for (const Sketch& sketch : GenerateSketches(fn, target)) {
      if (task.sketches.size() == most_sketches) break;
      SymbolicProgram program = Instantiate(fn, sketch.trace).value();
      SearchSpace space = SearchSpace::Create(ProgramOf(fn, target, sketch)).value();
      SketchFormulas formulas =
          SketchFormulas::Create(program, target, truth, task.settings).value();
      std::vector<Point> points = space.Sample(20, random);
      std::vector<double> ln_seconds = formulas.LnSecondsAt(points);
      for (size_t p = 0; p < points.size(); ++p) {
        task.points.push_back({.sketch = task.sketches.size(),
                               .set = space.ToDecisions(points[p]),
                               .seconds = std::exp(ln_seconds[p]),
                               .noise = 0.01});
      }
      task.sketches.push_back({task.key, Print(sketch.trace)});
    }
  }
  return tasks;
}

}  // namespace

TEST_CASE("Fitting finds the constants that points were made with", "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  CpuProfile start = ProfileOf(target), truth = start;
  truth.hertz = 2.1e9;
  truth.memory_rate = 12e9;
  double first = 0, last = 0;
  FitOptions options;
  options.steps = 120;
  options.progress = [&](int step, double loss) { (step == 0 ? first : last) = loss; };
  CpuProfile fitted = FitProfile(TasksOf(truth, target), target, start, options).value();
  CHECK(last < first / 20);
  // A clock and cycles of everything cannot be told apart; their ratio can.
  CHECK(fitted.hertz * fitted.fma_per_cycle ==
        Approx(truth.hertz * truth.fma_per_cycle).epsilon(0.15));
  CHECK(fitted.memory_rate < 0.6 * start.memory_rate);
  CHECK(fitted.l2_bytes == start.l2_bytes);
  CHECK(fitted.usable == start.usable);
}

TEST_CASE("Fitting finds the five constants of a GPU that its points were made with",
          "[autodiff_features]") {
  Target target = *FindTarget("sm_86");
  GpuProfile start = GpuProfileOf(target.sm), truth = start;
  truth.hertz *= 1.3;
  truth.memory_rate /= 1.8;
  truth.memory_latency *= 1.5;
  truth.launch_seconds *= 2;
  truth.shared_latency *= 1.6;
  std::vector<MeasuredTask> tasks = TasksOf(
      truth, target,
      {MatmulFunction(64, 96, 80), MatmulFunction(8, 16, 2048), MatmulFunction(256, 256, 256),
       MatmulFunction(16, 1024, 1024), MatmulFunction(1, 2048, 2048),
       ProductFunction({.rows = 37, .columns = 200, .depth = 64, .type = "f32", .constant = true}),
       ProductFunction({.rows = 128, .columns = 128, .depth = 64, .type = "f16"}),
       ConvFunction({.height = 20, .width = 22, .channels = 16, .filters = 40, .stride = 1}),
       SoftmaxByBlocks(60, 300), SoftmaxByBlocks(512, 1024), SoftmaxByBlocks(2, 9),
       TwoReadersFunction(1 << 20)},
      3);
  REQUIRE(tasks.size() == 12);
  FitOptions options;
  options.steps = 2000;
  options.pull = 1e-5;
  DeviceProfile fitted = FitProfile(tasks, target, start, options).value(), wanted = truth;
  std::vector<DeviceConstant> found = ConstantsIn(fitted), expected = ConstantsIn(wanted);
  for (size_t c = 0; c < found.size(); ++c) {
    INFO(found[c].name << " " << *found[c].value << " " << *expected[c].value);
    // Few of the points have sums over threads.
    double within = found[c].name == "exchange_cycles" ? 0.05 : 0.02;
    CHECK(*found[c].value == Approx(*expected[c].value).epsilon(within));
  }
}

TEST_CASE("Fitting to points of the start's own constants leaves them where they are",
          "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  CpuProfile start = ProfileOf(target);
  FitOptions options;
  options.steps = 10;
  CpuProfile fitted = FitProfile(TasksOf(start, target), target, start, options).value();
  for (const CpuConstantRow& row : CpuConstantRows()) {
    INFO(row.name);
    CHECK(fitted.*row.value == Approx(start.*row.value).epsilon(0.02));
  }
}

TEST_CASE("Points with NaN or infinity are left out of the fit and counted",
          "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  CpuProfile start = ProfileOf(target), truth = start;
  truth.hertz = 2.1e9;
  std::vector<MeasuredTask> tasks = TasksOf(truth, target), with_bad = tasks;
  for (double seconds :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 0.0}) {
    MeasuredPoint bad = tasks[1].points[0];
    bad.seconds = seconds;
    with_bad[1].points.insert(with_bad[1].points.begin(), bad);
  }
  FitOptions options;
  options.steps = 5;
  size_t left_out = 0;
  options.left_out = [&](size_t points) { left_out += points; };
  CpuProfile wanted = FitProfile(tasks, target, start, options).value();
  CHECK(left_out == 0);
  CpuProfile fitted = FitProfile(with_bad, target, start, options).value();
  CHECK(left_out == 3);
  for (const CpuConstantRow& row : CpuConstantRows()) {
    INFO(row.name);
    CHECK(fitted.*row.value == wanted.*row.value);
  }
  // With so slow a clock every prediction is infinite.
  start.hertz = 1e-310;
  CHECK_FALSE(FitProfile(tasks, target, start, options).ok());
  CHECK(left_out > 3);
}

TEST_CASE("Points measured on a GPU are not fitted to", "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  std::vector<MeasuredTask> tasks = TasksOf(ProfileOf(target), target);
  for (MeasuredTask& task : tasks) task.target = "sm_86";
  CHECK_FALSE(FitProfile(tasks, target, ProfileOf(target), {}).ok());
}

TEST_CASE("Points measured on a CPU are not fitted to for a GPU", "[autodiff_features]") {
  Target target = *FindTarget("sm_86"), cpu = *FindTarget("x86-64-v3");
  GpuProfile start = GpuProfileOf(target.sm);
  std::vector<MeasuredTask> tasks = TasksOf(start, target);
  CHECK(FitProfile(tasks, target, start, {.steps = 1}).ok());
  for (MeasuredTask& task : tasks) task.target = cpu.name;
  CHECK_FALSE(FitProfile(tasks, target, start, {.steps = 1}).ok());
  CHECK_FALSE(FitProfile(TasksOf(ProfileOf(cpu), cpu), target, start, {.steps = 1}).ok());
}

TEST_CASE("Fitting without a point that can be replayed is an error", "[autodiff_features]") {
  Target target = *FindTarget("x86-64-v3");
  CHECK_FALSE(FitProfile({}, target, ProfileOf(target), {}).ok());
  std::vector<MeasuredTask> tasks = TasksOf(ProfileOf(target), target);
  for (MeasuredTask& task : tasks) {
    for (MeasuredSketch& sketch : task.sketches) sketch.trace = "no such step";
  }
  CHECK_FALSE(FitProfile(tasks, target, ProfileOf(target), {}).ok());
}

}  // namespace tcc
