#include "search/candidate/build_candidates.h"

#include <catch2/catch.hpp>

#include "lower/lower_kernel.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/runnable_schedule.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

TEST_CASE("code with 16 x 8 sums a thread is not too much for a GPU", "[search][build]") {
  Target target = FindTarget("sm_90a").value();
  Function fn = ProductWorkload("p", {.rows = 2048, .columns = 2048, .depth = 2048}).variants[0];
  Sketch sketch = FirstSketch(fn, target);
  auto size_at = [&](const Decisions& sizes) {
    Schedule schedule{.trace = sketch.trace, .decisions = sizes};
    return CodeSizeOf(LowerKernel(ReplayFor(target, fn, schedule).value()).value());
  };
  Decisions large = sketch.start;
  const Decisions sums = {{"b0.i0.4", 16}, {"b0.i1.4", 8}, {"b0.i2.1", 1}, {"b0.i2.2", 8}};
  for (const auto& [name, size] : sums) {
    REQUIRE(large.contains(name));
    large[name] = size;
  }
  const int64_t code = size_at(large);
  CHECK(code > MostCodeBeside(size_at(sketch.start), FindTarget("x86-64-v3").value()));
  CHECK(code < MostCodeBeside(size_at(sketch.start), target));
}
