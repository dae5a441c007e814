#include "schedule/steps/rolling_buffer.h"

#include <catch2/catch.hpp>

#include "tests/programs/satisfies.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// A pointwise step, then a window of `taps` rows and a column each side, `stride` rows apart.
Function SlidingSum(int64_t rows, int64_t columns, int64_t taps, int64_t stride, bool pads) {
  int64_t pad = pads ? taps / 2 : 0;
  int64_t out = (rows + 2 * pad - taps) / stride + 1;
  std::string row = fmt::format("y * {} + r - {}", stride, pad);
  return FunctionOf(fmt::format(R"(
    fn f(A: f32[{h}, {w}], W: f32[{t}, 3], B: f32[{o}, {w}]) tensor {{
      alloc T: f32[{h}, {w}]
      for y in 0..{h} @t/y {{ for x in 0..{w} @t/x {{
        block t(y: spatial {h} = y, x: spatial {w} = x) {{ T[y, x] = A[y, x] * 2.0 + 1.0 }}
      }} }}
      for y in 0..{o} @b/y {{ for x in 0..{w} @b/x {{ for r in 0..{t} @b/r {{ for s in 0..3 @b/s {{
        block b(y: spatial {o} = y, x: spatial {w} = x, r: reduce {t} = r, s: reduce 3 = s)
            where (0 <= {row} && {row} < {h} && 0 <= x + s - 1 && x + s - 1 < {w}) {{
          reduce sum_f32 init (B[y, x]) with (T[{row}, x + s - 1] * W[r, s])
        }}
      }} }} }} }}
    }})",
                                fmt::arg("h", rows), fmt::arg("w", columns), fmt::arg("t", taps),
                                fmt::arg("o", out), fmt::arg("row", row)));
}

}  // namespace

TEST_CASE("a rolling buffer is filled once and then moves on with the loop",
          "[schedule][rolling_buffer]") {
  Function before = FunctionOf(R"(
    fn f(A: f32[12], B: f32[10]) tensor {
      alloc T: f32[12]
      for x in 0..12 @t/x { block t(x: spatial 12 = x) { T[x] = A[x] * 2.0 } }
      for i in 0..10 @b/i {
        block b(i: spatial 10 = i) { B[i] = T[i] + T[i + 1] + T[i + 2] }
      }
    })");
  CheckSteps(before, "compute_at t b/i\nrolling_buffer T 0", R"(
    fn f(A: f32[12], B: f32[10]) scheduled {
      alloc T: f32[12] window [0] size [3] circular 0
      for x in 0..2 @t.fill/x { block t.fill(x: spatial 12 = x) { T[x] = A[x] * 2.0 } }
      for i in 0..10 @b/i {
        for x in 0..1 @t/x { block t(x: spatial 12 = i + (2 + x)) { T[x] = A[x] * 2.0 } }
        block b(i: spatial 10 = i) { B[i] = T[i] + T[i + 1] + T[i + 2] }
      }
    })");
}

TEST_CASE("rolling rows give the same result for any taps, strides and pads",
          "[schedule][rolling_buffer]") {
  for (int64_t taps : {1, 2, 3, 5}) {
    for (int64_t stride : {1, 2}) {
      if (stride > taps) continue;
      for (bool pads : {false, true}) {
        INFO(taps << " taps, stride " << stride << (pads ? ", padded" : ""));
        CheckStepResult(SlidingSum(9, 6, taps, stride, pads),
                        "compute_at t b/y\nrolling_buffer T 0\nvectorize t/x\nunroll b/r");
      }
    }
  }
}

TEST_CASE("each parallel chunk of rows fills a buffer of its own", "[schedule][rolling_buffer]") {
  for (int64_t t : {1, 2, 4, 9, 12}) {
    CheckStepResult(SlidingSum(9, 6, 3, 1, true),
                    "tile t 1 12\nsplit b/y [t]\ncompute_at t b/y.1\nrolling_buffer T 0\n"
                    "parallel b/y.0",
                    {{"t", t}});
    // Split after rolling: rows are handed on through both loops.
    CheckStepResult(SlidingSum(9, 6, 3, 1, true),
                    "tile t 1 12\ncompute_at t b/y\nrolling_buffer T 0\nsplit b/y [t]\n"
                    "split t/y [2]\nfuse b/y.0 b/y.1",
                    {{"t", t}});
  }
}

TEST_CASE("a step of the window beyond its size is a constraint, or refused where known",
          "[schedule][rolling_buffer]") {
  const std::string strided = "compute_at t b/y\nrolling_buffer T 0";
  CHECK(RefusalOf(SlidingSum(9, 6, 1, 2, false), strided) ==
        "rolling_buffer: buffer 'T': it does not hold that the window moves by no more than its "
        "size");
  // Tiles of t rows of a window of 3 rows each: t rows on, t + 2 rows large.
  SymbolicProgram tiles = ProgramOf(SlidingSum(9, 6, 3, 1, true),
                                    "tile t 1 12\nsplit b/y [t]\ncompute_at t b/y.0\n"
                                    "rolling_buffer T 0");
  for (int64_t t : {1, 3, 12}) CHECK(Satisfies(tiles, {{"t", t}}));
  for (int64_t t : {1, 3, 5, 12}) {
    CheckStepResult(SlidingSum(9, 6, 3, 1, true),
                    "tile t 1 12\nsplit b/y [t]\ncompute_at t b/y.0\nrolling_buffer T 0",
                    {{"t", t}});
  }
}

TEST_CASE("a loop that carries rows keeps its order", "[schedule][rolling_buffer]") {
  Function f = SlidingSum(9, 6, 3, 1, true);
  const std::string rolled = "split b/y [3]\ncompute_at t b/y.1\nrolling_buffer T 0\n";
  const std::string why = ": loop 'b/y.1' carries rows of 'T' from iteration to iteration";
  CHECK(RefusalOf(f, rolled + "parallel b/y.1") == "parallel" + why);
  CHECK(RefusalOf(f, rolled + "bind b/y.1 threadIdx.x") == "bind" + why);
  CHECK(RefusalOf(f, rolled + "split b/y.1 [2]\nreorder [b/y.1.1, b/y.1.0]") ==
        "reorder: loop 'b/y.1.0' carries rows of 'T' from iteration to iteration");
  CHECK(RefusalOf(f, rolled + "parallel b/y.0").empty());
}

TEST_CASE("rolling_buffer says what is wrong with the buffer", "[schedule][rolling_buffer]") {
  Function f = SlidingSum(9, 6, 3, 1, true);
  const std::string placed = "compute_at t b/y\n";
  CHECK(RefusalOf(f, "rolling_buffer T 0") == "rolling_buffer: buffer 'T' is not placed in a loop");
  CHECK(RefusalOf(f, placed + "rolling_buffer T 2") ==
        "rolling_buffer: buffer 'T' has 2 dimensions, so none is 2");
  CHECK(RefusalOf(f, placed + "rolling_buffer T 1") ==
        "rolling_buffer: dimension 0 of buffer 'T' changes with loop 'b/y' too");
  CHECK(RefusalOf(f, placed + "rolling_buffer T 0\nrolling_buffer T 0") ==
        "rolling_buffer: buffer 'T' is circular already");
  CHECK(RefusalOf(f, placed + "split t/y [2]\nrolling_buffer T 0") ==
        "rolling_buffer: block 't' has no serial loop over the window of 'T' in dimension 0; roll "
        "a buffer before its producer's loop is changed");
  CHECK(RefusalOf(f, "parallel b/y\n" + placed + "rolling_buffer T 0") ==
        "rolling_buffer: loop 'b/y' is parallel; expected a serial loop");
  CHECK(RefusalOf(f, placed + "cache_read A [t] local A_s\ncompute_at A_s b/y\n"
                              "rolling_buffer T 0") ==
        "rolling_buffer: block 't' reads buffer 'A_s', which lives inside loop 'b/y'");
}

TEST_CASE("rolling_buffer asks for one writer that moves as its window does",
          "[schedule][rolling_buffer]") {
  Function f = SlidingSum(9, 6, 3, 1, true);
  CHECK(RefusalOf(f, "cache_read A [t] global t.fill\ncompute_at t b/y\nrolling_buffer T 0") ==
        "rolling_buffer: the name 't.fill' is in use");
  Function sums = FunctionOf(R"(
    fn f(A: f32[12, 3], B: f32[10]) tensor {
      alloc T: f32[12]
      for x in 0..12 @t/x { for k in 0..3 @t/k {
        block t(x: spatial 12 = x, k: reduce 3 = k) {
          reduce sum_f32 init (T[x]) with (A[x, k]) } } }
      for i in 0..10 @b/i { block b(i: spatial 10 = i) { B[i] = T[i] + T[i + 2] } }
    })");
  CHECK(RefusalOf(sums, "compute_at t b/i\ndecompose_reduction t t/k\nrolling_buffer T 0") ==
        "rolling_buffer: expected one block that writes buffer 'T' and nothing else");
  Function columns = FunctionOf(R"(
    fn f(A: f32[12], B: f32[10, 4]) tensor {
      alloc T: f32[12]
      for x in 0..12 @t/x { block t(x: spatial 12 = x) { T[x] = A[x] * 2.0 } }
      for i in 0..10 @b/i { for j in 0..4 @b/j {
        block b(i: spatial 10 = i, j: spatial 4 = j) { B[i, j] = T[i] + T[i + 1] } } }
    })");
  CHECK(RefusalOf(columns, "compute_at t b/j\nrolling_buffer T 0") ==
        "rolling_buffer: the window of buffer 'T' does not move with loop 'b/j' by a constant step "
        "in dimension 0");
  // Rows that stay would hold what an earlier iteration scaled.
  Function scaled = FunctionOf(R"(
    fn f(A: f32[12], C: f32[10], B: f32[10]) scheduled {
      for i in 0..10 @b/i {
        alloc T: f32[12] window [i] size [3]
        for x in 0..3 @t/x {
          block t(x: spatial 12 = i + x, z: spatial 10 = i) { T[x] = A[x] * C[z] }
        }
        block b(i: spatial 10 = i) { B[i] = T[i] + T[i + 1] + T[i + 2] }
      }
    })");
  CHECK(RefusalOf(scaled, "rolling_buffer T 0") ==
        "rolling_buffer: variable 'z' of block 't' moves with loop 'b/i'");
}
