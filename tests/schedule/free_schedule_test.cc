#include "schedule/space/free_schedule.h"

#include <catch2/catch.hpp>

#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

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

Schedule ScheduleOf(const std::string& text) {
  StatusOr<Schedule> schedule = ParseSchedule(text);
  REQUIRE(schedule.ok());
  return *schedule;
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
