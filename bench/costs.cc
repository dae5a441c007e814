#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/median.h"
#include "bench/subcommand.h"
#include "compiler/compile_graph.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "lower/pipeline.h"
#include "models/zoo/zoo.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/limits.h"
#include "schedule/space/space.h"
#include "search/searchers/searcher.h"
#include "support/check.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

struct CostsOptions {
  bool json = false;
  bool no_networks = false;
};

struct Cost {
  std::string name;
  double value;
  std::string unit;
};

// Returns a 3x3 convolution, 64 to 64 channels on 56x56 pixels.
Function Conv2d() {
  StatusOr<Function> fn = ParseFunction(R"(
fn conv(X: f32[56, 56, 64], W: f32[3, 3, 64, 64], Y: f32[56, 56, 64]) tensor {
  for y in 0..56 @conv/y { for x in 0..56 @conv/x { for o in 0..64 @conv/o {
    for ky in 0..3 @conv/ky { for kx in 0..3 @conv/kx { for c in 0..64 @conv/c {
      block conv(y: spatial 56 = y, x: spatial 56 = x, o: spatial 64 = o,
                 ky: reduce 3 = ky, kx: reduce 3 = kx, c: reduce 64 = c)
          where (1 <= y + ky && y + ky < 57 && 1 <= x + kx && x + kx < 57) {
        reduce sum_f32 init (Y[y, x, o]) with (X[y + ky - 1, x + kx - 1, c] * W[ky, kx, c, o])
      }
    } } }
  } } }
})");
  TCC_CHECK(fn.ok()) << Message(fn.status());
  return *fn;
}

double Seconds(const std::function<void()>& work) {
  Stopwatch stopwatch;
  work();
  return stopwatch.Seconds();
}

double MedianSeconds(int repetitions, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < repetitions; ++i) times.push_back(Seconds(work));
  return MedianOf(std::move(times));
}

// Proposes the schedules that rTile puts first.
void Construct(const Workload& workload, const Target& target) {
  constexpr RunSettings kCold = {.cold_weights = true, .cold_activations = true};
  TaskSpace space(workload, target);
  TaskHistory history;
  TaskEstimator estimator(space, target, kCold, nullptr);
  Random random(1);
  MakeTileSearcher({space, history, estimator, &estimator})->Propose(16, random);
}

// Measures the costs of the sketch of a convolution for a GPU, the largest of its kind.
Status MeasureSketch(std::vector<Cost>& costs) {
  auto add_ms = [&](const char* name, double seconds) {
    costs.push_back({name, seconds * 1e3, "ms"});
  };
  Function fn = Conv2d();
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("sm_86"));
  std::vector<Sketch> sketches = GenerateSketches(fn, target);
  add_ms("generate_conv2d_sketches_ms",
         MedianSeconds(5, [&] { sketches = GenerateSketches(fn, target); }));
  Workload workload;
  workload.variants = {fn};
  workload.variant_keys = {fn.name};
  add_ms("construct_conv2d_ms", MedianSeconds(3, [&] { Construct(workload, target); }));
  const Sketch& sketch = sketches[0];
  TCC_ASSIGN_OR_RETURN(SymbolicProgram program, Instantiate(fn, sketch.trace));
  add_ms("instantiate_conv2d_sketch_ms",
         MedianSeconds(9, [&] { program = Instantiate(fn, sketch.trace).value(); }));
  SymbolicProgram limited = WithLimits(program, target);
  add_ms("limits_conv2d_sketch_ms",
         MedianSeconds(9, [&] { limited = WithLimits(program, target); }));
  TCC_ASSIGN_OR_RETURN(SearchSpace space, SearchSpace::Create(limited));
  add_ms("create_search_space_ms",
         MedianSeconds(9, [&] { space = *SearchSpace::Create(limited); }));

  Random random(1);
  std::vector<Point> points;
  add_ms("sample_10000_points_ms", Seconds([&] { points = space.Sample(10'000, random); }));
  if (points.size() != 10'000) return absl::InternalError("fewer than 10,000 points were sampled");
  int64_t legal = 0;
  add_ms("check_10000_points_ms", MedianSeconds(5, [&] {
           std::vector<bool> are_legal = space.AreLegal(points);
           legal = std::ranges::count(are_legal, true);
         }));
  if (legal != 10'000) return absl::InternalError("a sampled point is not legal");

  size_t next = 0;
  Status status;
  add_ms("replay_and_lower_point_ms", MedianSeconds(25, [&] {
           Decisions decisions = space.ToDecisions(points[next++]);
           StatusOr<Function> scheduled = Replay(fn, sketch.trace, decisions);
           if (!scheduled.ok()) status = scheduled.status();
           if (scheduled.ok()) status.Update(RunPipeline(*scheduled).status());
         }));
  return status;
}

Status MeasureNetwork(std::vector<Cost>& costs) {
  TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo("resnet50"));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("native"));
  Status status;
  double seconds = Seconds([&] {
    status =
        CompileGraph(std::move(graph), {.target = target, .threads = 2, .progress = {}}).status();
  });
  costs.push_back({"compile_resnet50_s", seconds, "s"});
  return status;
}

Status RunCosts(const CostsOptions& options) {
  std::vector<Cost> costs;
  TCC_RETURN_IF_ERROR(MeasureSketch(costs));
  if (!options.no_networks) TCC_RETURN_IF_ERROR(MeasureNetwork(costs));
  if (options.json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Cost& cost : costs) {
      rows.push_back({{"name", cost.name}, {"value", cost.value}, {"unit", cost.unit}});
    }
    fmt::print("{}\n", rows.dump(2));
    return OkStatus();
  }
  for (const Cost& cost : costs) {
    fmt::print("{:<32} {:>10.3f} {}\n", cost.name, cost.value, cost.unit);
  }
  return OkStatus();
}

}  // namespace

BenchAction DeclareCosts(CLI::App& app) {
  auto options = std::make_shared<CostsOptions>();
  app.add_flag("--json", options->json, "Print [{name, value, unit}]");
  app.add_flag("--no-networks", options->no_networks, "Leave out what takes longer than seconds");
  return [options] { return RunCosts(*options); };
}

}  // namespace tcc
