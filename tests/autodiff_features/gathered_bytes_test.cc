#include <catch2/catch.hpp>

#include "autodiff_features/gpu/gpu_work.h"
#include "ir/analysis/batch_evaluator.h"
#include "ir/text/parser.h"
#include "schedule/sketches/parts/sketch.h"

using namespace tcc;

TEST_CASE("a table that is gathered from counts for what is gathered, not as a whole",
          "[autodiff_features]") {
  Target target = FindTarget("sm_86").value();
  Function fn = ParseFunction(R"(
    fn gather(T: f32[30000, 64], I: i64[128], Y: f32[128, 64]) tensor {
      for i in 0..128 @b/i { for j in 0..64 @b/j {
        block b(i: spatial 128 = i, j: spatial 64 = j) { Y[i, j] = T[I[i], j] }
      } }
    })")
                    .value();
  Sketch sketch = FirstSketch(fn, target);
  Function scheduled = Replay(fn, sketch.trace, sketch.start).value();
  std::vector<LaunchWork> launches = LaunchesOf(scheduled, target);
  REQUIRE(launches.size() == 1);
  const Expr rows[] = {launches[0].memory_bytes};
  const double bytes = BatchEvaluator::Compile(rows, {}).value().EvaluateAt({})[0];
  CHECK(bytes == 2 * 128 * 64 * 4 + 128 * 8);
}
