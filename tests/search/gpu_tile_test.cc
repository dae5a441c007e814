#include <catch2/catch.hpp>
#include <set>

#include "ir/expr/evaluate.h"
#include "schedule/space/resources.h"
#include "search/searchers/searcher.h"
#include "tests/search/sample_workloads.h"

namespace tcc {
namespace {

constexpr RunSettings kCold = {.cold_weights = true, .cold_activations = true};

int64_t MostThreads(TaskSpace& space, const SearchPoint& point, const Target& target) {
  const SymbolicProgram& program = *space.Program(point.sketch);
  Assignment sizes;
  for (size_t s = 0; s < point.point.size(); ++s) {
    sizes[program.trace.sizes[s].var] = point.point[s];
  }
  int64_t most = 0;
  for (const NestResources& nest : ResourcesOf(program.fn, target)) {
    most = std::max(most, EvaluateInt(nest.threads, sizes).value());
  }
  return most;
}

}  // namespace

TEST_CASE("rtile constructs legal tiles of whole warps for a GPU without a measurement",
          "[search][searchers]") {
  const Target target = FindTarget("sm_86").value();
  for (const ProductSizes& sizes :
       {ProductSizes{1024, 1024, 1024}, ProductSizes{8, 1000, 512}, ProductSizes{197, 768, 64}}) {
    const Workload workload = ProductWorkload("product", sizes);
    TaskSpace space(workload, target);
    TaskHistory history;
    TaskEstimator estimator(space, target, kCold, nullptr);
    Random random(1);
    std::vector<SearchPoint> points =
        MakeTileSearcher({space, history, estimator, &estimator})->Propose(16, random);
    REQUIRE(points.size() == 16);
    CHECK(estimator.predicted() <= 40'000);
    CHECK(std::set<SearchPoint>(points.begin(), points.end()).size() == points.size());
    for (const SearchPoint& point : points) {
      CHECK(space.Points(point.sketch)->AreLegal({&point.point, 1})[0]);
    }
    INFO(sizes.rows << "x" << sizes.columns << "x" << sizes.depth);
    CHECK(MostThreads(space, points[0], target) % Target::kWarp == 0);
    SearchPoint start = space.Start(0).value();
    double expected = estimator.Rank(points[0].sketch, {&points[0].point, 1})[0].ln_seconds;
    CHECK(expected <= estimator.Rank(start.sketch, {&start.point, 1})[0].ln_seconds);
  }
}

}  // namespace tcc
