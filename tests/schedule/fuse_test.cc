#include "schedule/steps/fuse.h"

#include <catch2/catch.hpp>

#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

TEST_CASE("two loops become one that is divided again in the bindings", "[schedule][fuse]") {
  Function before = FunctionOf(R"(
    fn f(A: f32[3, 5], B: f32[3, 5]) tensor {
      for i in 0..3 @b/i { for j in 0..5 @b/j {
        block b(i: spatial 3 = i, j: spatial 5 = j) { B[i, j] = A[i, j] * 2.0 }
      } }
    })");
  CheckSteps(before, "fuse b/i b/j", R"tir(
    fn f(A: f32[3, 5], B: f32[3, 5]) scheduled {
      for f in 0..15 @"b/(i*j)" {
        block b(i: spatial 3 = f div 5, j: spatial 5 = f mod 5) { B[i, j] = A[i, j] * 2.0 }
      }
    })tir");
}

TEST_CASE("the key of a fused loop tells from which loops it came", "[schedule][fuse]") {
  CHECK(FusedKey("mm/i.0", "mm/j.0") == "mm/(i.0*j.0)");
  CHECK(FusedKey("mm/(i*j)", "mm/k") == "mm/((i*j)*k)");
}

TEST_CASE("guards of the fused loops go along", "[schedule][fuse]") {
  CheckStepResult(MatmulFunction(5, 7, 3), "tile t 1 9\nsplit mm/i [t]\nfuse mm/i.0 mm/i.1",
                  {{"t", 3}});
  CheckStepResult(MatmulFunction(5, 7, 3),
                  "tile s 1 9\nfuse mm/i mm/j\nsplit mm/(i*j) [s]\nsplit mm/(i*j).1 [3]",
                  {{"s", 4}});
  CheckStepResult(MatmulFunction(5, 7, 3), "fuse mm/j mm/k\nsplit mm/(j*k) [4]");
}

TEST_CASE("an inner extent that may be 0 becomes a constraint", "[schedule][fuse]") {
  Function fn = FunctionOf(R"(
    fn f<shape N in 0..=9>(A: f32[3, N], B: f32[3, N]) tensor {
      for i in 0..3 @b/i { for j in 0..N @b/j {
        block b(i: spatial 3 = i, j: spatial N = j) { B[i, j] = A[i, j] * 2.0 }
      } }
    })");
  SymbolicProgram program = ProgramOf(fn, "fuse b/i b/j");
  REQUIRE(program.constraints.size() == 1);
  CHECK(program.constraints[0].why == "a fused inner loop has an iteration");
  CHECK_FALSE(Satisfies(program, {{"N", 0}}));
  CHECK(Satisfies(program, {{"N", 1}}));
}

TEST_CASE("fuse says which loops cannot become one", "[schedule][fuse]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "fuse mm/i mm/k") ==
        "fuse: loop 'mm/k' is not the whole body of loop 'mm/i'");
  CHECK(RefusalOf(mm, "fuse mm/j mm/i") ==
        "fuse: loop 'mm/i' is not the whole body of loop 'mm/j'");
  CHECK(RefusalOf(mm, "parallel mm/i\nfuse mm/i mm/j") ==
        "fuse: loop 'mm/i' is parallel; expected a serial loop");
  CHECK(RefusalOf(mm, "unroll mm/j\nfuse mm/i mm/j") ==
        "fuse: loop 'mm/j' is unrolled; expected a serial loop");
  CHECK(RefusalOf(mm, "decompose_reduction mm mm/k\nfuse mm/j mm/k") ==
        "fuse: loop 'mm/k' is not the whole body of loop 'mm/j'");
  CHECK(RefusalOf(EmptyReductionFunction(3), "fuse total/i total/k") ==
        "fuse: loop 'total/k' has extent 0; expected at least 1");
}
