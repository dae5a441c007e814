#include "schedule/steps/decompose_reduction.h"

#include <catch2/catch.hpp>

#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

TEST_CASE("an initialisation of its own gets the spatial loops from the loop inwards",
          "[schedule][decompose]") {
  CheckSteps(MatmulFunction(3, 4, 5), "reorder [mm/k, mm/j]\ndecompose_reduction mm mm/k", R"(
    fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {
      for i in 0..3 @mm/i {
        for j in 0..4 @mm.init/j {
          block mm.init(i: spatial 3 = i, j: spatial 4 = j) { C[i, j] = 0.0 }
        }
        for k in 0..5 @mm/k { for j in 0..4 @mm/j {
          block mm(i: spatial 3 = i, j: spatial 4 = j, k: reduce 5 = k) {
            reduce sum_f32 (C[i, j]) with (A[i, k] * B[k, j])
          }
        } }
      }
    })");
}

TEST_CASE("guards of reduction loops stay with the update", "[schedule][decompose]") {
  CheckSteps(MatmulFunction(3, 4, 5),
             "split mm/k [2]\nsplit mm/j [3]\nreorder [mm/j.0, mm/k.0, mm/k.1, mm/j.1]\n"
             "decompose_reduction mm mm/k.0",
             R"(
    fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {
      for i in 0..3 @mm/i { for j0 in 0..2 @mm/j.0 {
        for j1 in 0..3 @mm.init/j.1 {
          block mm.init(i: spatial 3 = i, j: spatial 4 = j0 * 3 + j1) guard (j0 * 3 + j1 < 4) {
            C[i, j] = 0.0
          }
        }
        for k0 in 0..3 @mm/k.0 { for k1 in 0..2 @mm/k.1 { for j1 in 0..3 @mm/j.1 {
          block mm(i: spatial 3 = i, j: spatial 4 = j0 * 3 + j1, k: reduce 5 = k0 * 2 + k1)
              guard (k0 * 2 + k1 < 5, j0 * 3 + j1 < 4) {
            reduce sum_f32 (C[i, j]) with (A[i, k] * B[k, j])
          }
        } } }
      } }
    })");
}

TEST_CASE("every element of a tuple is initialised", "[schedule][decompose]") {
  CheckStepResult(SoftmaxFunction(3, 5), "decompose_reduction stat stat/j");
  CheckStepResult(SoftmaxFunction(3, 5), "decompose_reduction stat stat/i");
}

TEST_CASE("decompose_reduction says which block or loop does not fit", "[schedule][decompose]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "decompose_reduction nn mm/k") ==
        "no block 'nn' in function 'mm'; it has mm");
  CHECK(RefusalOf(mm, "decompose_reduction mm mm/q") ==
        "no loop 'mm/q' in function 'mm'; it has mm/i, mm/j, mm/k");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "decompose_reduction out out/j") ==
        "decompose_reduction: block 'out' is no reduction");
  CHECK(RefusalOf(SoftmaxFunction(3, 4), "decompose_reduction stat out/j") ==
        "decompose_reduction: loop 'out/j' is not round block 'stat'");
  CHECK(RefusalOf(mm, "split mm/k [2]\ndecompose_reduction mm mm/k.1") ==
        "decompose_reduction: loop 'mm/k.1' is inside loop 'mm/k.0' of the reduction");
  CHECK(RefusalOf(mm, "fuse mm/j mm/k\ndecompose_reduction mm mm/(j*k)") ==
        "decompose_reduction: loop 'mm/(j*k)' feeds both spatial and reduce variables");
}

TEST_CASE("decompose_reduction refuses a result that lives inside the loop",
          "[schedule][decompose]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm,
                  "cache_write mm C global c\nreverse_compute_at c mm/j\n"
                  "decompose_reduction mm mm/i") ==
        "decompose_reduction: buffer 'c' lives inside loop 'mm/i'");
  CHECK(RefusalOf(mm, "cache_read A [mm] global mm.init\ndecompose_reduction mm mm/k") ==
        "decompose_reduction: the name 'mm.init' is in use");
}

TEST_CASE("the initialisation that rfactor leaves moves to the loop of its reduction",
          "[schedule][decompose]") {
  CheckSteps(MatmulFunction(3, 4, 5),
             "split mm/k [2]\nrfactor mm mm/k.0 0 global part\n"
             "reorder [part/k.0, part/i, part/j, part/k.1]\n"
             "decompose_reduction part part/k.1\ndecompose_reduction mm mm/k.0",
             R"(
    fn mm(A: f32[3, 5], B: f32[5, 4], C: f32[3, 4]) scheduled {
      alloc part: f32[3, 3, 4]
      for k0 in 0..3 @part/k.0 { for i in 0..3 @part/i { for j in 0..4 @part/j {
        block part.init(i: spatial 3 = i, j: spatial 4 = j, p: spatial 3 = k0) {
          part[p, i, j] = 0.0
        }
        for k1 in 0..2 @part/k.1 {
          block part(i: spatial 3 = i, j: spatial 4 = j, p: spatial 3 = k0,
                     k: reduce 5 = k0 * 2 + k1) guard (k0 * 2 + k1 < 5) {
            reduce sum_f32 (part[p, i, j]) with (A[i, k] * B[k, j])
          }
        }
      } } }
      for i in 0..3 @mm/i { for j in 0..4 @mm/j {
        block mm.init(i: spatial 3 = i, j: spatial 4 = j) { C[i, j] = 0.0 }
        for k0 in 0..3 @mm/k.0 {
          block mm(i: spatial 3 = i, j: spatial 4 = j, p: reduce 3 = k0) {
            reduce sum_f32 (C[i, j]) with (part[p, i, j])
          }
        }
      } }
    })");
}

TEST_CASE("a reduction is right wherever its initialisation moves", "[schedule][decompose]") {
  const std::string kFactored = "tile t 1 7\nsplit mm/k [t]\nrfactor mm mm/k.0 1 global part\n";
  for (int64_t t : {1, 2, 5, 7}) {
    for (const char* loop : {"part/i", "part/j", "part/k.1"}) {
      CheckStepResult(MatmulFunction(3, 4, 5),
                      kFactored + "reorder [part/i, part/k.0, part/j, part/k.1]\n" +
                          "decompose_reduction part " + loop,
                      {{"t", t}});
    }
    // A register for each partial result, written back where it is done.
    CheckStepResult(MatmulFunction(3, 4, 5),
                    kFactored + "reorder [part/k.0, part/i, part/j, part/k.1]\n" +
                        "cache_write part part local part.out\n"
                        "decompose_reduction part part/k.1\n"
                        "reverse_compute_at part.out part/j",
                    {{"t", t}});
  }
  CheckStepResult(SoftmaxFunction(3, 5),
                  "decompose_reduction stat stat/i\ndecompose_reduction stat stat/j");
}

TEST_CASE("decompose_reduction says why an initialisation cannot move", "[schedule][decompose]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm,
                  "decompose_reduction mm mm/i\nvectorize mm.init/j\n"
                  "decompose_reduction mm mm/k") ==
        "decompose_reduction: loop 'mm.init/j' is vectorized; expected a serial loop");
  const std::string kText = R"(
    fn f(A: f32[4, 5], B: f32[4], C: f32[4]) scheduled {{
      for i in 0..4 @s.init/i {{ block s.init(i: spatial 4 = i) {{ C[i] = {} }} }}
      {}
      for i in 0..4 @s/i {{ for k in 0..5 @s/k {{
        block s(i: spatial 4 = i, k: reduce 5 = k) {{ reduce sum_f32 (C[i]) with (A[i, k]) }}
      }} }}
    }})";
  CHECK(RefusalOf(FunctionOf(fmt::format(fmt::runtime(kText), "1.0", "")),
                  "decompose_reduction s s/k") ==
        "decompose_reduction: block 's' is decomposed already, and no block 's.init' just sets the "
        "identities");
  CHECK(RefusalOf(FunctionOf(fmt::format(
                      fmt::runtime(kText), "0.0",
                      "for i in 0..4 @b/i { block b(i: spatial 4 = i) { B[i] = C[i] } }")),
                  "decompose_reduction s s/k") ==
        "decompose_reduction: block 'b' uses 'C' before block 's' does");
}

TEST_CASE(
    "rows of a rolling buffer are initialised with each of them, not once before: two loops "
    "had one key, or sums went on",
    "[schedule][decompose]") {
  Function f = FunctionOf(R"(
    fn f(A: f32[9, 4], C: f32[9]) tensor {
      alloc B: f32[9]
      for i in 0..9 @s/i { for k in 0..4 @s/k {
        block s(i: spatial 9 = i, k: reduce 4 = k) {
          reduce sum_f32 init (B[i]) with (A[i, k]) } } }
      for i in 0..9 @c/i { block c(i: spatial 9 = i) { C[i] = B[i] / 4.0 } }
    })");
  const std::string rolled = "compute_at s c/i\nrolling_buffer B 0\n";
  CHECK(RefusalOf(f, rolled + "decompose_reduction s c/i") ==
        "decompose_reduction: buffer 'B' is circular, and loop 'c/i' is not of block 's'");
  CheckStepResult(f, rolled + "decompose_reduction s s/i");
  CheckStepResult(f, rolled + "decompose_reduction s s/k");
}
