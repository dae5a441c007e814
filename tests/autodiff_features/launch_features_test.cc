#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "autodiff_features/gpu/gpu_work.h"
#include "autodiff_features/learned/model_file.h"
#include "autodiff_features/learned/train.h"
#include "ir/analysis/batch_evaluator.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/runnable_schedule.h"
#include "tests/programs/product_function.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

Target Gpu() {
  return *FindTarget("sm_86");
}

double Row(const KernelFeatures& kernel, size_t launch, LaunchFeature feature) {
  return kernel.rows[launch * kLaunchFeatures + static_cast<size_t>(feature)];
}

struct Sampled {
  SearchSpace space;
  std::vector<Point> points;
  std::vector<KernelFeatures> features;
};

Sampled SampledOf(const Function& fn, const Sketch& sketch, size_t points) {
  SymbolicProgram program = ProgramOf(fn, Gpu(), sketch);
  SearchSpace space = SearchSpace::Create(program).value();
  Random random(23);
  std::vector<Point> sampled = space.Sample(points, random);
  SketchFormulas formulas =
      SketchFormulas::Create(program, Gpu(), DeviceProfileOf(Gpu()), {.cold_weights = true})
          .value();
  std::vector<KernelFeatures> features = FeaturesAt(formulas, sampled);
  return {std::move(space), std::move(sampled), std::move(features)};
}

double ValueOf(const Expr& formula) {
  const Expr rows[] = {formula};
  return BatchEvaluator::Compile(rows, {})->EvaluateAt({})[0];
}

// Sums up what the runs of all warps of a block count.
double SumOf(const LaunchWork& launch, Expr WarpSite::* count) {
  return std::accumulate(
      launch.sites.begin(), launch.sites.end(), 0.0, [&](double sum, const WarpSite& site) {
        return sum + ValueOf(site.warps) * ValueOf(site.runs) * ValueOf(site.*count);
      });
}

// A task of kernels of one launch that take the prior's time, times a power of its threads.
TrainingTask TaskOf(const Function& fn) {
  TrainingTask task;
  for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
    for (const KernelFeatures& kernel : SampledOf(fn, sketch, 40).features) {
      if (kernel.nests() != 1) continue;
      double slower = 0.3 * std::log(Row(kernel, 0, LaunchFeature::kThreads));
      task.points.push_back(
          {.features = kernel, .ln_seconds = kernel.ln_prior + slower, .noise = 0.01});
    }
  }
  return task;
}

// Returns the mean deviation of predictions from a task's times, whatever factor all share.
double SpreadOf(const TrainingTask& task, const LearnedModel& model) {
  std::vector<KernelFeatures> kernels;
  for (const TrainingPoint& point : task.points) kernels.push_back(point.features);
  std::vector<LearnedModel::Prediction> predicted = model.Predict(kernels);
  auto count = static_cast<double>(kernels.size());
  double mean = 0, spread = 0;
  for (size_t p = 0; p < kernels.size(); ++p) {
    mean += (predicted[p].ln_seconds - task.points[p].ln_seconds) / count;
  }
  for (size_t p = 0; p < kernels.size(); ++p) {
    spread += std::abs(predicted[p].ln_seconds - task.points[p].ln_seconds - mean) / count;
  }
  return spread;
}

}  // namespace

TEST_CASE("Features of a launch are the counts of the scheduled function at the point",
          "[autodiff_features]") {
  for (const Function& fn :
       {MatmulFunction(64, 96, 80), MatmulFunction(8, 16, 2048), SoftmaxByBlocks(60, 300),
        ProductFunction({.rows = 128, .columns = 128, .depth = 64, .constant = true})}) {
    for (const Sketch& sketch : GenerateSketches(fn, Gpu())) {
      INFO(sketch.name);
      Sampled sampled = SampledOf(fn, sketch, 6);
      REQUIRE_FALSE(sampled.points.empty());
      for (size_t p = 0; p < sampled.points.size(); ++p) {
        const Schedule schedule = {.trace = sketch.trace,
                                   .decisions = sampled.space.ToDecisions(sampled.points[p])};
        Function scheduled = ReplayFor(Gpu(), fn, schedule).value();
        std::vector<LaunchWork> launches = LaunchesOf(scheduled, Gpu());
        const KernelFeatures& kernel = sampled.features[p];
        REQUIRE(kernel.kind == FeatureKind::kLaunch);
        REQUIRE(kernel.nests() == launches.size());
        for (size_t l = 0; l < launches.size(); ++l) {
          const LaunchWork& launch = launches[l];
          auto check = [&](LaunchFeature feature, double value) {
            INFO(kLaunchRows[static_cast<size_t>(feature)].name);
            CHECK(Row(kernel, l, feature) == Approx(value));
          };
          check(LaunchFeature::kBlocks, ValueOf(launch.blocks));
          check(LaunchFeature::kThreads, ValueOf(launch.resources.threads));
          check(LaunchFeature::kSharedBytes, ValueOf(launch.resources.shared_bytes));
          check(LaunchFeature::kRegisters, ValueOf(launch.resources.registers));
          check(LaunchFeature::kMemoryBytes, ValueOf(launch.memory_bytes));
          check(LaunchFeature::kConstantBytes, ValueOf(launch.constant_bytes));
          check(LaunchFeature::kSteps, ValueOf(launch.steps));
          check(LaunchFeature::kAhead, ValueOf(launch.ahead));
          check(LaunchFeature::kFma, SumOf(launch, &WarpSite::multiply_adds));
          check(LaunchFeature::kMma, SumOf(launch, &WarpSite::mma));
          check(LaunchFeature::kSpecial, SumOf(launch, &WarpSite::special));
          check(LaunchFeature::kSectors, SumOf(launch, &WarpSite::sectors));
          double rounds = std::ceil(ValueOf(launch.blocks) /
                                    static_cast<double>(GpuProfileOf(86).multiprocessors));
          check(LaunchFeature::kRounds, rounds);
          // Conflicts of banks are an upper bound while sizes are free.
          double passes = SumOf(launch, &WarpSite::passes);
          CHECK(Row(kernel, l, LaunchFeature::kPasses) >= passes * (1 - 1e-9));
        }
        for (double row : kernel.rows) {
          CHECK(std::isfinite(row));
          CHECK(row >= 0);
        }
      }
    }
  }
}

TEST_CASE("A network corrects the prior of a GPU on a product that it was not trained on",
          "[autodiff_features]") {
  std::vector<TrainingTask> tasks;
  for (int64_t extent : {64, 96, 128, 200, 256, 320}) {
    tasks.push_back(TaskOf(MatmulFunction(extent, 128, 96)));
    tasks.push_back(TaskOf(MatmulFunction(128, extent, 512)));
  }
  TrainingTask held_out = TaskOf(MatmulFunction(160, 160, 256));
  const DeviceProfile profile = DeviceProfileOf(Gpu());
  LearnedModel model = Train(tasks, profile, {.members = 2, .epochs = 100}).value();
  CHECK(SpreadOf(held_out, model) < 0.5 * SpreadOf(held_out, PriorAlone(profile)));

  std::vector<uint8_t> bytes = ModelBytes(model);
  StatusOr<LearnedModel> read = ParseModel(bytes, "m");
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(read->members.size() == 2);
  CHECK(read->kind() == FeatureKind::kLaunch);
  CHECK(ModelBytes(*read) == bytes);
  CHECK(SpreadOf(held_out, *read) == SpreadOf(held_out, model));
}

}  // namespace tcc
