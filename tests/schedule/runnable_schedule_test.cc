#include "schedule/space/runnable_schedule.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/free_schedule.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

constexpr const char* kMatmul = R"(
fn mm(A: f32[13, 31], B: f32[31, 17], C: f32[13, 17]) tensor {
  for i in 0..13 @C/i { for j in 0..17 @C/j { for k in 0..31 @C/k {
    block C(i: spatial 13 = i, j: spatial 17 = j, k: reduce 31 = k) {
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }
  } } }
})";

Function Matmul() {
  StatusOr<Function> fn = ParseFunction(kMatmul);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

Schedule ScheduleOf(const std::string& text) {
  StatusOr<Schedule> schedule = ParseSchedule(text);
  INFO(text << schedule.status());
  REQUIRE(schedule.ok());
  return *schedule;
}

std::string ErrorOf(const std::string& text, const char* target = "x86-64-v3") {
  return Message(ReplayFor(*FindTarget(target), Matmul(), ScheduleOf(text)).status());
}

// C = A * B with free rows, in two dimensions that are one axis, as a flattened batch is.
Function Product() {
  return FunctionOf(R"(
    fn mm<shape N in 1..=4096 usual 8, shape S in 1..=512 usual 24>(
        A: f32[N * S, 40], B: f32[40, 48] constant, C: f32[N * S, 48]) tensor {
      for i in 0..N * S @mm/i { for j in 0..48 @mm/j { for k in 0..40 @mm/k {
        block mm(i: spatial N * S = i, j: spatial 48 = j, k: reduce 40 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j]) } } } }
    })");
}

// Rows of a table, scaled, are added to each X[b].
Function Table() {
  return FunctionOf(R"(
    fn f<shape S in 1..=512 usual 128>(X: f32[4, S], W: f32[512] constant, Y: f32[4, S]) tensor {
      alloc T: f32[S]
      alloc U: f32[S]
      for i in 0..S @t/i { block t(i: spatial S = i) { T[i] = W[i] * 2.0 } }
      for i in 0..S @u/i { block u(i: spatial S = i) { U[i] = T[i] + 1.0 } }
      for b in 0..4 @y/b { for i in 0..S @y/i {
        block y(b: spatial 4 = b, i: spatial S = i) { Y[b, i] = X[b, i] + U[i] } } }
    })");
}

Target Cpu() {
  return FindTarget("x86-64-v3").value();
}

Function At(const Function& fn, const std::vector<int64_t>& values) {
  Substitution substitution;
  for (size_t i = 0; i < fn.vars.size(); ++i) substitution.emplace(fn.vars[i], Expr(values[i]));
  return Substitute(fn, substitution);
}

size_t CountOf(const Schedule& schedule, StepKind kind) {
  return std::ranges::count(schedule.trace.steps, kind, &Step::kind);
}

}  // namespace

// These gave wrong results, crashed what they made, or kept the compiler busy for ever.
TEST_CASE("sizes that would leave 64 bits are refused by the step", "[schedule]") {
  const std::string kCopied = "cache_read B [C] global B_s\n";
  for (const std::string step :
       {"storage_align B_s 0 4611686018427387904 1",
        "transform_layout B_s [0 by 4294967296, 1 by 4294967296] [0, 1, 2, 3]",
        "split C/i [4294967296, 4294967296]", "pipeline C/k 4611686018427387904 pipelined"}) {
    std::string error = ErrorOf(kCopied + step);
    INFO(step << ": " << error);
    CHECK(error.starts_with("step 2 (" + step));
  }
  const std::string kPadded = "cache_read A [C] global A_s\ncache_read B [C] global B_s\n";
  std::string error = ErrorOf(kPadded + "pad C k 4611686018427387904");
  INFO(error);
  CHECK(error.starts_with("step 3 (pad C k 4611686018427387904): number 4611686018427387904; "));
  // Each by itself is modest.
  CHECK(ErrorOf("split C/i [1073741824]\nsplit C/j [1073741824]")
            .starts_with("step 2 (split C/j [1073741824]): the body of loop "));
}

TEST_CASE("code beyond what is compiled is refused by the step", "[schedule]") {
  CHECK(ErrorOf("unroll C/i\nunroll C/j\nunroll C/k") == "");
  CHECK(ErrorOf("split C/i [64]\nunroll C/i.1\nunroll C/j\nunroll C/k")
            .starts_with("step 4 (unroll C/k): nest 'C' has 67456 statements once unrolled; "
                         "expected at most 65536"));
  CHECK(ErrorOf("split C/i [64]\nbind C/i.1 vthread\nunroll C/j\nunroll C/k", "sm_86")
            .starts_with("step 4 (unroll C/k): nest 'C' has 67456 statements once unrolled; "));
}

// 4 div 0 crashed what it made, and a factor of 0 gave wrong results.
TEST_CASE("sizes that are no numbers or break a condition are refused by the step", "[schedule]") {
  CHECK(ErrorOf("split C/i [(4 div 0)]") ==
        "step 1 (split C/i [4 div 0]): size 4 div 0 is no number");
  CHECK(ErrorOf("cache_read B [C] global B_s\nstorage_align B_s 0 (8 div 0) 1")
            .ends_with("size 8 div 0 is no number"));
  CHECK(ErrorOf("cache_read B [C] global B_s\ntransform_layout B_s [0 by (4 div 0)] [0, 1, 2]")
            .ends_with("size 4 div 0 is no number"));
  CHECK(ErrorOf("split C/i [shift_left(1, 64)]")
            .ends_with("1 - shift_left(1, 64) is 1; expected at most 0, since a split factor is at "
                       "least 1"));
  CHECK(ErrorOf("tile t 1 4\nsplit C/k [(8 div (t - 1))]\nset t 1").ends_with(" is no number"));
  CHECK(ErrorOf("tile t 1 4\nsplit C/k [(t - 1)]\nset t 2").empty());
  CHECK(
      ErrorOf("tile t 1 4\nsplit C/k [(t - 1)]\nset t 1")
          .starts_with("step 1 (split C/k [1 - 1]): split: factor 1 - 1 of loop 'C/k'; expected "));
}

TEST_CASE("what a GPU cannot run is refused by the step", "[schedule]") {
  CHECK(ErrorOf("bind C/j blockIdx.x", "sm_86")
            .starts_with("step 1 (bind C/j blockIdx.x): loop 'C/j', which is bound to blockIdx.x, "
                         "is inside loop 'C/i', which is serial"));
  CHECK(ErrorOf("split C/i [2048]\nbind C/i.0 blockIdx.x\nbind C/i.1 threadIdx.x", "sm_86") ==
        "step 3 (bind C/i.1 threadIdx.x): nest 'C' has 2048 threads a block; expected at most "
        "1024");
  CHECK(ErrorOf("bind C/i blockIdx.x\ncache_read B [C] shared B_s\ncompute_at B_s C/i\n"
                "transform_layout B_s [0 by 2000] [0, 1, 2]\nbind B_s/ax1 threadIdx.x",
                "sm_86")
            .starts_with("step 4 (transform_layout B_s [0 by 2000] [0, 1, 2]): nest 'C' has 136000 "
                         "bytes of shared memory; expected at most 101376"));
  CHECK(ErrorOf("bind C/i threadIdx.x") ==
        "step 1 (bind C/i threadIdx.x): the schedule binds loop 'C/i' to threadIdx.x, which target "
        "'x86-64-v3' does not have");
}

TEST_CASE("sizes that are left open are chosen within the limits", "[schedule]") {
  Schedule schedule = ScheduleOf(
      "tile a 1 64\ntile b 1 64\nsplit C/i [a]\nsplit C/j [b]\nunroll C/i.1\nunroll C/j.1\n"
      "set a 11");
  const Target target = *FindTarget("x86-64-v3");
  StatusOr<Decisions> decisions = DecideOpenSizes(Matmul(), schedule, target);
  REQUIRE(decisions.ok());
  CHECK(decisions->at("a") == 11);
  CHECK(decisions->at("b") >= 1);
  CHECK(*decisions == DecideOpenSizes(Matmul(), schedule, target).value());
  schedule.decisions = *decisions;
  CHECK(ReplayFor(target, Matmul(), schedule).ok());

  std::string huge = Message(
      DecideOpenSizes(Matmul(), ScheduleOf("tile a 1 99999999\nsplit C/i [a]"), target).status());
  CHECK(huge ==
        "'tile a 1 99999999' has more than 1048576 values; expected one of them by 'set a VALUE'");
}

TEST_CASE("a twin is the function at its usual sizes, extents as numbers", "[schedule][free]") {
  Function twin = TwinOf(Product());
  Function expected = FunctionOf(R"(
    fn mm(A: f32[192, 40], B: f32[40, 48] constant, C: f32[192, 48]) tensor {
      for i in 0..192 @mm/i { for j in 0..48 @mm/j { for k in 0..40 @mm/k {
        block mm(i: spatial 192 = i, j: spatial 48 = j, k: reduce 40 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j]) } } } }
    })");
  INFO(Print(twin));
  CHECK(AlphaEqual(twin, expected));
  CHECK_FALSE(HasFreeShapes(twin));
  CHECK(AlphaEqual(TwinOf(twin), twin));
}

TEST_CASE("the twin's first sketch replayed on the function is right at every size",
          "[schedule][free]") {
  Function fn = Product();
  Sketch sketch = FirstSketch(TwinOf(fn), Cpu());
  Schedule schedule = FreeSchedule(fn, {.trace = sketch.trace, .decisions = sketch.start});
  StatusOr<Function> replayed = ReplayFree(fn, schedule, Cpu());
  INFO(replayed.status());
  REQUIRE(replayed.ok());
  for (const std::vector<int64_t>& values :
       std::vector<std::vector<int64_t>>{{8, 24}, {1, 1}, {1, 512}, {31, 7}, {4096, 1}}) {
    Function bound = At(fn, values);
    Function expected = Replay(bound, schedule.trace, schedule.decisions).value();
    CHECK(AlphaEqual(Simplify(At(*replayed, values)), Simplify(expected)));
  }
}

TEST_CASE("what depends on free sizes is not prepared when linking", "[schedule][free]") {
  Function fn = Table();
  Schedule of_twin = ScheduleOf("prepack t\nprepack u\nsplit y/i [8]\nvectorize y/i.1\n");
  REQUIRE(Replay(TwinOf(fn), of_twin.trace).ok());
  Schedule schedule = FreeSchedule(fn, of_twin);
  CHECK(CountOf(schedule, StepKind::kPrepack) == 0);
  CHECK(CountOf(schedule, StepKind::kVectorize) == 1);
  CHECK(ReplayFree(fn, of_twin, Cpu()).ok());
  CHECK(CountOf(FreeSchedule(TwinOf(fn), of_twin), StepKind::kPrepack) == 2);
  // Weights of known size are prepared all the same.
  Schedule packs = ScheduleOf("cache_read B [mm] global B_p\nprepack B_p\n");
  CHECK(CountOf(FreeSchedule(Product(), packs), StepKind::kPrepack) == 1);
}

TEST_CASE("hints are left out where sizes count them", "[schedule][free]") {
  const std::string tiles =
      "split mm/i [4]\nsplit mm/j [8]\nreorder [mm/j.0, mm/i.0, mm/k, mm/i.1, mm/j.1]\n";
  // The tiles of rows are counted by N * S, the terms are 40.
  Schedule by_rows = ScheduleOf(tiles + "prefetch mm B mm/j.0 mm/k 1\n");
  Schedule by_terms = ScheduleOf(tiles + "prefetch mm B mm/i.0 mm/k 1\n");
  CHECK(CountOf(FreeSchedule(Product(), by_rows), StepKind::kPrefetch) == 0);
  CHECK(CountOf(FreeSchedule(Product(), by_terms), StepKind::kPrefetch) == 1);
}

TEST_CASE("a step that some size forbids is refused by name", "[schedule][free]") {
  Function fn = FunctionOf(R"(
    fn f<shape N in 0..=64 usual 8>(X: f32[4, N], Y: f32[4, N]) tensor {
      for a in 0..4 @y/a { for i in 0..N @y/i {
        block y(a: spatial 4 = a, i: spatial N = i) { Y[a, i] = X[a, i] + 1.0 } } }
    })");
  Schedule schedule = ScheduleOf("split y/a [2]\nfuse y/a.1 y/i\n");
  CHECK(ReplayFree(TwinOf(fn), schedule, Cpu()).ok());
  CHECK(Message(ReplayFree(fn, schedule, Cpu()).status()) ==
        "step 2 (fuse y/a.1 y/i): 1 - N may be above 0; expected at most 0, since a fused inner "
        "loop has an iteration");
}
