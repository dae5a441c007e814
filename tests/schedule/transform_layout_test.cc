#include "schedule/steps/transform_layout.h"

#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/pipeline.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Function Copied() {
  return FunctionOf(R"(
    fn f(A: f32[6, 10], B: f32[6, 10]) tensor {
      for i in 0..6 @p/i { for j in 0..10 @p/j {
        block p(i: spatial 6 = i, j: spatial 10 = j) { B[i, j] = A[i, j] + 1.0 } } }
    })");
}

}  // namespace

TEST_CASE("a layout in panels lists its strides by the stored dimensions", "[schedule][layout]") {
  CheckSteps(Copied(), "cache_read A [p] global A_s\ntransform_layout A_s [1 by 4] [1, 0, 2]", R"(
    fn f(A: f32[6, 10], B: f32[6, 10]) scheduled {
      alloc A_s: f32[6, 10] strides [4, 24, 1] blocks [1 by 4]
      for a in 0..6 @A_s/ax0 { for b in 0..10 @A_s/ax1 {
        block A_s(a: spatial 6 = a, b: spatial 10 = b) { A_s[a, b] = A[a, b] } } }
      for i in 0..6 @p/i { for j in 0..10 @p/j {
        block p(i: spatial 6 = i, j: spatial 10 = j) { B[i, j] = A_s[i, j] + 1.0 } } }
    })");
}

TEST_CASE("any order of blocks of blocks is right", "[schedule][layout]") {
  const std::string copy = "cache_read A [p] global A_s\n";
  CheckStepResult(Copied(), copy + "transform_layout A_s [] [1, 0]");
  CheckStepResult(Copied(), copy + "transform_layout A_s [0 by 4, 1 by 3] [1, 3, 0, 2]");
  CheckStepResult(Copied(), copy + "transform_layout A_s [1 by 7, 2 by 2] [3, 2, 1, 0]");
  CheckStepResult(Copied(), copy + "transform_layout A_s [0 by 100] [2, 1, 0]");
}

TEST_CASE("block factors may be free", "[schedule][layout]") {
  const std::string steps =
      "tile t 1 12\ntile u 1 12\ncache_read A [p] global A_s\n"
      "transform_layout A_s [1 by t, 0 by u] [3, 1, 0, 2]";
  for (auto [t, u] : {std::pair(1, 1), {4, 3}, {7, 5}, {12, 12}}) {
    CheckStepResult(Copied(), steps, {{"t", t}, {"u", u}});
  }
}

TEST_CASE("a placed buffer is laid out in its window", "[schedule][layout]") {
  CheckStepResult(Copied(),
                  "split p/j [4]\ncache_read A [p] global A_s\ncompute_at A_s p/j.0\n"
                  "transform_layout A_s [1 by 3] [1, 0, 2]");
}

TEST_CASE("panels of the tile's width are read from front to back", "[schedule][layout]") {
  Function fn = ProgramOf(MatmulFunction(8, 96, 16),
                          "cache_read B [mm] global B_p\n"
                          "transform_layout B_p [1 by 32] [1, 0, 2]\n"
                          "split mm/j [2, 16]\nreorder [mm/j.0, mm/i, mm/k, mm/j.1, mm/j.2]\n"
                          "vectorize mm/j.2\nunroll mm/j.1")
                    .fn;
  StatusOr<Function> lowered = RunPipeline(Simplify(fn));
  REQUIRE(lowered.ok());
  int vectors = 0;
  PreOrderExprs(lowered->body, [&](const Expr& expr) {
    const auto* load = expr.as<Load>();
    if (!load || load->buffer->name != "B_p") return;
    const auto* ramp = load->indices[0].as<Ramp>();
    INFO(Print(*lowered));
    REQUIRE(ramp != nullptr);
    CHECK(IsConstant(ramp->stride, 1));
    bool divides = false;
    PreOrder(ramp->base,
             [&](const Expr& e) { divides = divides || e.as<FloorDiv>() || e.as<FloorMod>(); });
    CHECK_FALSE(divides);
    ++vectors;
  });
  CHECK(vectors == 2);
}

TEST_CASE("transform_layout says what has no such layout", "[schedule][layout]") {
  const std::string copy = "cache_read A [p] global A_s\n";
  CHECK(RefusalOf(Copied(), "transform_layout A [] [0, 1]") ==
        "transform_layout: buffer 'A' is a parameter; copy it first");
  CHECK(RefusalOf(Copied(), "transform_layout Q [] [0, 1]") ==
        "no buffer 'Q' in function 'f'; it has A, B");
  CHECK(RefusalOf(Copied(), copy + "transform_layout A_s [2 by 4] [0, 1, 2]") ==
        "transform_layout: a block of dimension 2 of buffer 'A_s', which has 2");
  CHECK(RefusalOf(Copied(), copy + "transform_layout A_s [1 by 0] [0, 1, 2]") ==
        "transform_layout: a factor of dimension 1 of buffer 'A_s' is below 1");
  CHECK(RefusalOf(Copied(), copy + "transform_layout A_s [1 by 4] [0, 1, 1]") ==
        "transform_layout: [0, 1, 1] is no order of the 3 stored dimensions of buffer 'A_s'");
  CHECK(RefusalOf(Copied(), copy + "transform_layout A_s [] [1, 0]\n"
                                   "transform_layout A_s [] [0, 1]") ==
        "transform_layout: buffer 'A_s' has a layout already");
}

TEST_CASE("a buffer with a layout is placed no more", "[schedule][layout]") {
  const std::string laid_out =
      "cache_read A [p] global A_s\ntransform_layout A_s [1 by 4] [1, 0, 2]\n";
  CHECK(RefusalOf(Copied(), laid_out + "compute_at A_s p/i") ==
        "compute_at: buffer 'A_s' has a layout already; place it before");
  CHECK(RefusalOf(Copied(), laid_out + "reverse_compute_at p A_s/ax0") ==
        "reverse_compute_at: buffer 'A_s' has a layout already; place it before");
}
