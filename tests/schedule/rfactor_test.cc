#include "schedule/steps/rfactor.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

constexpr const char* kTiles = "tile t 1 9\ntile u 1 9\n";

// The steps with free tiles, at sizes that divide, do not, are 1 and exceed the extent.
void CheckAtTiles(const Function& before, const std::string& steps) {
  for (int64_t t : {1, 2, 3, 5, 9}) {
    for (int64_t u : {1, 2, 7}) {
      CheckStepResult(before, kTiles + steps, {{"t", t}, {"u", u}});
    }
  }
}

}  // namespace

TEST_CASE("each iteration of a factored loop has a partial result", "[schedule][rfactor]") {
  CheckSteps(MatmulFunction(3, 4, 5), "split mm/k [2]\nrfactor mm mm/k.0 0 global mm_p", R"(
    fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {
      alloc mm_p: f32[3, 3, 4]
      for i in 0..3 @mm_p.init/i { for j in 0..4 @mm_p.init/j { for k0 in 0..3 @mm_p.init/k.0 {
        block mm_p.init(i: spatial 3 = i, j: spatial 4 = j, p: spatial 3 = k0) {
          mm_p[p, i, j] = 0.0
        }
      } } }
      for i in 0..3 @mm_p/i { for j in 0..4 @mm_p/j { for k0 in 0..3 @mm_p/k.0 {
        for k1 in 0..2 @mm_p/k.1 {
          block mm_p(i: spatial 3 = i, j: spatial 4 = j, p: spatial 3 = k0,
                     k: reduce 5 = k0 * 2 + k1) guard (k0 * 2 + k1 < 5) {
            reduce sum_f32 (mm_p[p, i, j]) with (A[i, k] * B[k, j])
          }
        }
      } } }
      for i in 0..3 @mm.init/i { for j in 0..4 @mm.init/j {
        block mm.init(i: spatial 3 = i, j: spatial 4 = j) { C[i, j] = 0.0 }
      } }
      for i in 0..3 @mm/i { for j in 0..4 @mm/j { for k0 in 0..3 @mm/k.0 {
        block mm(i: spatial 3 = i, j: spatial 4 = j, p: reduce 3 = k0) {
          reduce sum_f32 (C[i, j]) with (mm_p[p, i, j])
        }
      } } }
    })");
}

TEST_CASE("the partial results' dimension stands where the step says", "[schedule][rfactor]") {
  for (const char* axis : {"0", "1", "2", "-1"}) {
    CheckAtTiles(MatmulFunction(3, 4, 7),
                 std::string("split mm/k [t, u]\nrfactor mm mm/k.1 ") + axis + " local mm_p");
  }
}

TEST_CASE("outer, middle and inner parts of a split are factored alike", "[schedule][rfactor]") {
  for (const char* loop : {"mm/k.0", "mm/k.1", "mm/k.2"}) {
    CheckAtTiles(MatmulFunction(2, 5, 11),
                 std::string("split mm/k [t, u]\nsplit mm/j [3]\nreorder [mm/j.0, mm/k.1, mm/k.2, "
                             "mm/j.1]\nrfactor mm ") +
                     loop + " 0 global mm_p");
  }
}

TEST_CASE("every element of a tuple has partial results", "[schedule][rfactor]") {
  for (const char* loop : {"stat/j.0", "stat/j.1"}) {
    CheckAtTiles(SoftmaxFunction(3, 13), std::string("split stat/j [t]\nsplit stat/i [u]\nrfactor "
                                                     "stat ") +
                                             loop + " -1 global stat_p");
  }
}

TEST_CASE("a factored loop runs in parallel or in lanes", "[schedule][rfactor]") {
  std::string factor = "split mm/k [t]\nrfactor mm mm/k.1 -1 global mm_p\n";
  CheckAtTiles(MatmulFunction(2, 3, 7), factor + "parallel mm_p/k.1\nparallel mm_p.init/k.1");
  CheckAtTiles(MatmulFunction(2, 3, 7), factor + "reorder [mm_p/k.1, mm_p/k.0]\nparallel mm_p/k.1");
  CheckAtTiles(MatmulFunction(2, 3, 7),
               factor + "vectorize mm_p/k.1\nvectorize mm_p.init/k.1\nunroll mm/k.1");
}

TEST_CASE("partial results are factored once more", "[schedule][rfactor]") {
  CheckAtTiles(MatmulFunction(2, 3, 23),
               "split mm/k [t, u]\nrfactor mm mm/k.0 0 global outer\n"
               "rfactor outer outer/k.2 -1 local inner\nparallel inner/k.0\nvectorize inner/k.2");
}

TEST_CASE("a reduction under a consumer's loop gets a window of partial results",
          "[schedule][rfactor]") {
  CheckSteps(SoftmaxFunction(3, 5),
             "compute_at stat out/i\nsplit stat/j [2]\nrfactor stat stat/j.1 -1 local stat_p", R"(
    fn softmax(X: f32[3, 5], Y: f32[3, 5]) scheduled {
      for i in 0..3 @out/i {
        alloc m: f32[3] window [i] size [1]
        alloc l: f32[3] window [i] size [1]
        alloc stat_p.0: f32[3, 2] local window [i, 0] size [1, 2] in {
            alloc stat_p.1: f32[3, 2] local window [i, 0] size [1, 2]
              for i1 in 0..1 @stat_p.init/i { for j1 in 0..2 @stat_p.init/j.1 {
                block stat_p.init(i: spatial 3 = i + i1, p: spatial 2 = j1) {
                  stat_p.0[i, p] = -inf
                  stat_p.1[i, p] = 0.0
                }
              } }
              for i1 in 0..1 @stat_p/i { for j0 in 0..3 @stat_p/j.0 { for j1 in 0..2 @stat_p/j.1 {
                block stat_p(i: spatial 3 = i + i1, p: spatial 2 = j1, j: reduce 5 = j0 * 2 + j1)
                    guard (j0 * 2 + j1 < 5) {
                  reduce softmax_f32 (stat_p.0[i, p], stat_p.1[i, p]) with (X[i, j], 1.0)
                }
              } } }
              for i1 in 0..1 @stat.init/i {
                block stat.init(i: spatial 3 = i + i1) { m[i] = -inf; l[i] = 0.0 }
              }
              for i1 in 0..1 @stat/i { for j1 in 0..2 @stat/j.1 {
                block stat(i: spatial 3 = i + i1, p: reduce 2 = j1) {
                  reduce softmax_f32 (m[i], l[i]) with (stat_p.0[i, p], stat_p.1[i, p])
                }
              } }
        }
          for j in 0..5 @out/j {
            block out(i: spatial 3 = i, j: spatial 5 = j) { Y[i, j] = exp_diff(X[i, j], m[i]) / l[i] }
          }
      }
    })");
  CheckAtTiles(SoftmaxFunction(5, 13),
               "split out/i [t]\ncompute_at stat out/i.0\nsplit stat/j [u]\nsplit stat/i [2]\n"
               "rfactor stat stat/j.1 -1 local stat_p\nvectorize stat_p/j.1\nunroll stat/j.1");
}

TEST_CASE("an empty reduction is factored and gives the identity", "[schedule][rfactor]") {
  CheckAtTiles(EmptyReductionFunction(4), "split total/k [t]\nrfactor total total/k.1 0 global p");
}

TEST_CASE("a predicate stays with what it guards when a window's loop is factored",
          "[schedule][rfactor]") {
  for (const char* loop : {"conv/ky", "conv/kx", "conv/c.0", "conv/c.1"}) {
    ConvShape shape{.height = 5, .width = 6, .channels = 5, .filters = 2, .pad = 1};
    CheckAtTiles(ConvFunction(shape), std::string("split conv/c [t]\nsplit conv/x [u]\nrfactor "
                                                  "conv ") +
                                          loop + " 1 global part");
  }
}

TEST_CASE("rfactor says which block, loop, name or dimension does not fit", "[schedule][rfactor]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "rfactor nn mm/k 0 global p") == "no block 'nn' in function 'mm'; it has mm");
  CHECK(RefusalOf(mm, "rfactor mm mm/q 0 global p") ==
        "no loop 'mm/q' in function 'mm'; it has mm/i, mm/j, mm/k");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "rfactor out out/j 0 global p") ==
        "rfactor: block 'out' is no reduction");
  CHECK(RefusalOf(mm, "unroll mm/k\nrfactor mm mm/k 0 global p") ==
        "rfactor: loop 'mm/k' is unrolled; expected a serial loop");
  CHECK(RefusalOf(mm, "rfactor mm mm/j 0 global p") ==
        "rfactor: loop 'mm/j' feeds no reduce variable of block 'mm'");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "rfactor stat out/j 0 global p") ==
        "rfactor: loop 'out/j' does not go round block 'stat' alone");
  CHECK(RefusalOf(mm, "fuse mm/j mm/k\nrfactor mm mm/(j*k) 0 global p") ==
        "rfactor: loop 'mm/(j*k)' feeds both spatial and reduce variables");
  CHECK(RefusalOf(mm, "rfactor mm mm/k 3 global p") ==
        "rfactor: dimension 3 of 'C'; expected -1 to 2");
  CHECK(RefusalOf(mm, "rfactor mm mm/k -2 global p") ==
        "rfactor: dimension -2 of 'C'; expected -1 to 2");
  CHECK(RefusalOf(mm, "rfactor mm mm/k 0 global mm") ==
        "rfactor: the name 'mm' is empty or in use");
  CHECK(RefusalOf(mm, "rfactor mm mm/k 0 global A") == "rfactor: the name 'A' is empty or in use");
}

TEST_CASE("rfactor refuses a reduction whose loops hold other blocks", "[schedule][rfactor]") {
  Function mm = MatmulFunction(4, 5, 6);
  std::string staged = "split mm/k [2]\ncache_read A [mm] global a\ncompute_at a mm/k.0\n";
  CHECK(RefusalOf(mm, staged + "rfactor mm mm/k.1 0 global p") ==
        "rfactor: loop 'mm/k.0' of the reduction 'mm' holds other blocks as well");
  CHECK(RefusalOf(mm,
                  "cache_write mm C local c\nreverse_compute_at c mm/j\nsplit c/ax0 [1]\n"
                  "rfactor mm mm/j 0 global p") ==
        "rfactor: loop 'mm/j' does not go round block 'mm' alone");
}

TEST_CASE("rfactor asks for a loop of fixed extent and a nest of loops alone",
          "[schedule][rfactor]") {
  CHECK(RefusalOf(FunctionOf(R"(
    fn f(A: f32[4, 4], B: f32[4]) tensor {
      for i in 0..4 @r/i { for k in 0..(i + 1) @r/k {
        block r(i: spatial 4 = i, k: reduce 4 = k) {
          reduce sum_f32 init (B[i]) with (A[i, k]) } } } })"),
                  "rfactor r r/k 0 global p") ==
        "rfactor: the extent of loop 'r/k' depends on loop 'r/i'");
  CHECK(RefusalOf(MatmulFunction(8, 16, 3),
                  "split mm/i [8]\nsplit mm/j [16]\nsplit mm/k [1]\n"
                  "reorder [mm/i.0, mm/j.0, mm/k.0, mm/i.1, mm/j.1, mm/k.1]\n"
                  "decompose_reduction mm mm/k.0\ntensorize mm/i.1 outer_product_f32_8x16\n"
                  "rfactor mm mm/k.0 0 global p") ==
        "rfactor: the loops of block 'mm' hold more than the block");
}
