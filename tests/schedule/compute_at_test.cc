#include "schedule/steps/compute_at.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

// T[x] = A[x] for x in 0..12, and B[y] = `read` for y in 0..6.
Function Reading(const std::string& read, const std::string& producer = "T[x] = A[x]") {
  return FunctionOf(fmt::format(R"(
    fn f(A: f32[12], B: f32[6]) tensor {{
      alloc T: f32[12]
      for x in 0..12 @p/x {{ block p(x: spatial 12 = x) {{ {} }} }}
      for y in 0..6 @c/y {{ block c(y: spatial 6 = y) {{ B[y] = {} }} }}
    }})",
                                producer, read));
}

}  // namespace

TEST_CASE("a producer computes the window that is read under the loop", "[schedule][compute_at]") {
  CheckSteps(Reading("T[y + 2]"), "split c/y [4]\ncompute_at p c/y.0", R"(
    fn f(A: f32[12], B: f32[6]) scheduled {
      for y0 in 0..2 @c/y.0 {
        alloc T: f32[12] window [y0 * 4 + 2] size [4]
        for x in 0..4 @p/x { block p(x: spatial 12 = y0 * 4 + 2 + x) { T[x] = A[x] } }
        for y1 in 0..4 @c/y.1 {
          block c(y: spatial 6 = y0 * 4 + y1) guard (y0 * 4 + y1 < 6) { B[y] = T[y + 2] }
        }
      }
    })");
}

TEST_CASE("the window of several reads holds them all", "[schedule][compute_at]") {
  CheckSteps(Reading("T[y] + T[y + 5]"), "compute_at p c/y", R"(
    fn f(A: f32[12], B: f32[6]) scheduled {
      for y in 0..6 @c/y {
        alloc T: f32[12] window [y] size [6]
        for x in 0..6 @p/x { block p(x: spatial 12 = y + x) { T[x] = A[x] } }
        block c(y: spatial 6 = y) { B[y] = T[y] + T[y + 5] }
      }
    })");
}

TEST_CASE("a window that reaches past the tensor is guarded by the domain",
          "[schedule][compute_at]") {
  CheckStepResult(Reading("select(y < 4, T[y * 2 + 4], 0.0)"), "split c/y [4]\ncompute_at p c/y.0");
  for (int64_t t : {1, 3, 4, 6, 9}) {
    CheckStepResult(Reading("T[y * 2] + T[y * 2 + 1]"),
                    "tile t 1 9\nsplit c/y [t]\ncompute_at p c/y.0\nsplit p/x [t]", {{"t", t}});
  }
}

TEST_CASE("the window of tiles is as large as the loops of a split cover",
          "[schedule][compute_at]") {
  CheckSteps(Reading("T[y div 2 * 2 + y mod 2 + 1]"), "split c/y [2, 2]\ncompute_at p c/y.0", R"(
    fn f(A: f32[12], B: f32[6]) scheduled {
      for y0 in 0..2 @c/y.0 {
        alloc T: f32[12] window [y0 * 4 + 1] size [4]
        for x in 0..4 @p/x { block p(x: spatial 12 = y0 * 4 + 1 + x) { T[x] = A[x] } }
        for y1 in 0..2 @c/y.1 {
          for y2 in 0..2 @c/y.2 {
            block c(y: spatial 6 = y0 * 4 + y1 * 2 + y2) guard (y0 * 4 + y1 * 2 + y2 < 6) {
              B[y] = T[y div 2 * 2 + y mod 2 + 1]
            }
          }
        }
      }
    })");
  CheckStepResult(Reading("T[y mod 2 + 3]"), "split c/y [2]\ncompute_at p c/y.0");
  for (int64_t t : {1, 2, 3}) {
    CheckStepResult(Reading("T[y div 2 * 2 + y mod 2]"),
                    "tile t 1 3\nsplit c/y [t, 2]\ncompute_at p c/y.0", {{"t", t}});
  }
}

TEST_CASE("a producer read at half of a variable keeps its window whatever the split",
          "[schedule][compute_at]") {
  // One window for all sizes: a size that happens to be the divisor changes nothing.
  for (int64_t t : {1, 2, 3}) {
    CheckStepResult(Reading("T[y div 2]"), "tile t 1 3\nsplit c/y [t]\ncompute_at p c/y.0",
                    {{"t", t}});
  }
}

TEST_CASE("a reduction is computed where it is read", "[schedule][compute_at]") {
  for (int64_t t : {1, 2, 5}) {
    CheckStepResult(SoftmaxFunction(5, 7), "tile t 1 9\nsplit out/i [t]\ncompute_at stat out/i.0",
                    {{"t", t}});
  }
}

TEST_CASE("compute_at says which block cannot move", "[schedule][compute_at]") {
  Function simple = Reading("T[y]");
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(simple, "compute_at q c/y") == "no block 'q' in function 'f'; it has p, c");
  CHECK(RefusalOf(simple, "compute_at p c/q") == "no loop 'c/q' in function 'f'; it has p/x, c/y");
  CHECK(RefusalOf(simple, "compute_at p p/x") ==
        "compute_at: block 'p' is under loop 'p/x' already");
  CHECK(RefusalOf(simple, "compute_at c p/x") ==
        "compute_at: block 'c' writes 'B', a parameter of the function");
  CHECK(RefusalOf(simple, "vectorize c/y\ncompute_at p c/y") ==
        "compute_at: loop 'c/y' round it is vectorized");
  CHECK(RefusalOf(mm,
                  "cache_write mm C global c\ndecompose_reduction mm mm/k\ncompute_at mm c/ax0") ==
        "compute_at: loop 'mm/i' of block 'mm' holds other blocks as well");
  CHECK(RefusalOf(mm, "split mm/k [2]\nrfactor mm mm/k.1 2 global part\ncompute_at part mm/i") ==
        "compute_at: a loop of block 'part' feeds 'k' and another variable");
  CHECK(RefusalOf(SoftmaxFunction(5, 7),
                  "split stat/j [4]\nreorder [stat/j.0, stat/i, stat/j.1]\n"
                  "rfactor_tile stat stat/j.0 direct global p\nsplit p.1/j.1 [2]\n"
                  "compute_at p.1 stat/i") ==
        "compute_at: 'j' of block 'p.1' runs over a part of its domain that several loops make; "
        "place it before splitting");
}

TEST_CASE("a tile of a reduction stays that tile where it is placed", "[schedule][compute_at]") {
  for (int64_t t : {1, 2, 4, 9}) {
    CheckStepResult(SoftmaxFunction(5, 7),
                    "tile t 1 9\nsplit stat/j [t]\nreorder [stat/j.0, stat/i, stat/j.1]\n"
                    "rfactor_tile stat stat/j.0 direct global p\nsplit stat/i [2]\n"
                    "compute_at p.1 stat/i.0",
                    {{"t", t}});
  }
}

TEST_CASE("the initialisation of a decomposed reduction moves along", "[schedule][compute_at]") {
  Function mm = MatmulFunction(4, 5, 6);
  for (int64_t t : {1, 2, 5}) {
    CheckStepResult(mm,
                    "tile t 1 5\ncache_write mm C global c\ndecompose_reduction mm mm/i\n"
                    "split c/ax1 [t]\ncompute_at mm c/ax1.0",
                    {{"t", t}});
  }
}

TEST_CASE("compute_at says which access stands in the way", "[schedule][compute_at]") {
  CHECK(RefusalOf(Reading("T[y]", "T[11 - x] = A[x]"), "compute_at p c/y") ==
        "block 'p' accesses buffer 'T' by other indices than distinct spatial iteration variables");
  CHECK(RefusalOf(Reading("T[11 - y]"), "split c/y [2]\ncompute_at p c/y.0") ==
        "block 'c': index 11 - y of buffer 'T' is not affine with rising terms");
  CHECK(RefusalOf(Reading("T[y mod 3]"), "split c/y [2]\ncompute_at p c/y.0") ==
        "block 'c': index y mod 3 of buffer 'T' is not affine with rising terms");
  CHECK(RefusalOf(Reading("T[y] + T[y * 2]"), "split c/y [2]\ncompute_at p c/y.0") ==
        "two reads of one buffer start at y0 * 2 and y0 * 4, which do not differ by a constant");
  CHECK(RefusalOf(TwoReadersFunction(6), "cache_read A [] global A_s\ncompute_at A_s sum/i") ==
        "compute_at: block 'out' reads buffer 'A_s' outside loop 'sum/i'");
  CHECK(RefusalOf(Reading("A[y]"), "compute_at p c/y") == "compute_at: nothing reads buffer 'T'");
}

TEST_CASE("compute_at refuses a fused loop inside the region", "[schedule][compute_at]") {
  CHECK(RefusalOf(MatmulFunction(4, 5, 6),
                  "fuse mm/i mm/j\nsplit mm/(i*j) [3]\ncache_read A [mm] global A_s\n"
                  "compute_at A_s mm/(i*j).0")
            .ends_with("is not affine in the loops inside; place the buffer below the loops that "
                       "were fused"));
}

TEST_CASE("compute_at refuses a producer whose operand does not live at the loop",
          "[schedule][compute_at]") {
  Function fn = FunctionOf(R"(
    fn f(A: f32[7], B: f32[7]) tensor {
      alloc T: f32[7]
      alloc U: f32[7]
      for i in 0..7 @p/i { block p(i: spatial 7 = i) { T[i] = A[i] } }
      for i in 0..7 @q/i { block q(i: spatial 7 = i) { U[i] = T[i] * 3.0 } }
      for i in 0..7 @c/i { block c(i: spatial 7 = i) { B[i] = U[i] + 1.0 } }
    })");
  CHECK(RefusalOf(fn, "reverse_compute_at q p/i\ncompute_at q c/i") ==
        "block 'q' uses buffer 'T', which does not live at loop 'c/i'");
  CheckStepResult(fn, "compute_at q c/i\ncompute_at p c/i");
}

TEST_CASE("a producer moves below the place of its operand", "[schedule][compute_at]") {
  CheckStepResult(TwoReadersFunction(6),
                  "split out/i [2]\ncache_read A [sum] global A_s\ncompute_at sum out/i.0\n"
                  "compute_at A_s out/i.0\ncompute_at sum out/i.1");
}

TEST_CASE("compute_at refuses results that are read in different windows",
          "[schedule][compute_at]") {
  Function fn = FunctionOf(R"(
    fn f(X: f32[4, 5], Y: f32[4]) tensor {
      alloc m: f32[4]
      alloc l: f32[4]
      for i in 0..4 @s/i { for j in 0..5 @s/j {
        block s(i: spatial 4 = i, j: reduce 5 = j) {
          reduce softmax_f32 init (m[i], l[i]) with (X[i, j], 1.0)
        }
      } }
      for i in 0..4 @out/i {
        block out(i: spatial 4 = i) { Y[i] = m[i] + select(i < 3, l[i + 1], 0.0) }
      }
    })");
  CHECK(RefusalOf(fn, "compute_at s out/i") ==
        "compute_at: the results of block 's' are read in different windows");
}
