#include "schedule/steps/reorder.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

TEST_CASE("loops change places and one between them stays", "[schedule][reorder]") {
  CheckSteps(MatmulFunction(3, 4, 5), "reorder [mm/k, mm/i]", R"(
    fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {
      for k in 0..5 @mm/k { for j in 0..4 @mm/j { for i in 0..3 @mm/i {
        block mm(i: spatial 3 = i, j: spatial 4 = j, k: reduce 5 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
        }
      } } }
    })");
}

TEST_CASE("spatial loops round several blocks change places", "[schedule][reorder]") {
  CheckStepResult(MatmulFunction(3, 4, 5), "decompose_reduction mm mm/k\nreorder [mm/j, mm/i]");
}

TEST_CASE("a split reduction changes places with every loop of the chain", "[schedule][reorder]") {
  CheckStepResult(MatmulFunction(3, 4, 5), "split mm/k [2]\nreorder [mm/k.1, mm/j, mm/k.0, mm/i]");
}

TEST_CASE("reorder says which loops cannot change places", "[schedule][reorder]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "reorder [mm/i]") ==
        "reorder: expected two or more different loops, 1 given");
  CHECK(RefusalOf(mm, "reorder [mm/i, mm/i]") ==
        "reorder: expected two or more different loops, 'mm/i' is given twice");
  CHECK(RefusalOf(mm, "bind mm/i blockIdx.x\nreorder [mm/j, mm/i]") ==
        "reorder: loop 'mm/i' is blockIdx.x; expected a serial loop");
  CHECK(RefusalOf(mm, "reorder [mm/j, mm/q]") ==
        "no loop 'mm/q' in function 'mm'; it has mm/i, mm/j, mm/k");
  CHECK(RefusalOf(mm, "decompose_reduction mm mm/k\nreorder [mm/k, mm/j]") ==
        "reorder: the loops from 'mm/k' to 'mm/j' are not one perfectly nested chain");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "reorder [stat/i, out/j]") ==
        "reorder: the loops from 'stat/i' to 'out/j' are not one perfectly nested chain");
  CHECK(RefusalOf(mm, "cache_read A [mm] global A_s\ncompute_at A_s mm/k\nreorder [mm/k, mm/j]") ==
        "reorder: a loop of a reduction would change places with loops round several blocks; "
        "expected one block below 'mm/k'");
  CHECK(RefusalOf(mm, "fuse mm/j mm/k\nreorder [mm/(j*k), mm/i]") ==
        "reorder: loop 'mm/(j*k)' feeds spatial and reduce variables; its order decides which "
        "instance of the reduction is the first");
}
