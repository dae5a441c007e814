#include "schedule/steps/split.h"

#include <catch2/catch.hpp>

#include "tests/programs/satisfies.h"
#include "tests/programs/spike_programs.h"
#include "tests/schedule/step_check.h"

using namespace tcc;

namespace {

Function Row(int64_t extent) {
  std::string n = std::to_string(extent);
  return FunctionOf("fn f(A: f32[" + n + "], B: f32[" + n + "]) tensor { for i in 0.." + n +
                    " @b/i { block b(i: spatial " + n + " = i) { B[i] = A[i] + 1.0 } } }");
}

Function Gather() {
  return FunctionOf(R"(fn f(A: f32[3], I: i64[6], B: f32[6]) tensor { for i in 0..6 @b/i {
    block b(i: spatial 6 = i) { B[i] = A[min(max(I[i], 0), 2)] }
  } })");
}

}  // namespace

TEST_CASE("splitting 7 by 4 guards the tail", "[schedule][split]") {
  CheckSteps(Row(7), "split b/i [4]", R"(
    fn f(A: f32[7], B: f32[7]) scheduled {
      for i0 in 0..2 @b/i.0 { for i1 in 0..4 @b/i.1 {
        block b(i: spatial 7 = i0 * 4 + i1) guard (i0 * 4 + i1 < 7) { B[i] = A[i] + 1.0 }
      } }
    })");
}

TEST_CASE("splitting 8 by 4 keeps the guard all the same", "[schedule][split]") {
  CheckSteps(Row(8), "split b/i [4]", R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      for i0 in 0..2 @b/i.0 { for i1 in 0..4 @b/i.1 {
        block b(i: spatial 8 = i0 * 4 + i1) guard (i0 * 4 + i1 < 8) { B[i] = A[i] + 1.0 }
      } }
    })");
}

TEST_CASE("a split into three levels multiplies the inner factors", "[schedule][split]") {
  CheckSteps(Row(29), "split b/i [3, 5]", R"(
    fn f(A: f32[29], B: f32[29]) scheduled {
      for i0 in 0..2 @b/i.0 { for i1 in 0..3 @b/i.1 { for i2 in 0..5 @b/i.2 {
        block b(i: spatial 29 = i0 * 15 + i1 * 5 + i2) guard (i0 * 15 + i1 * 5 + i2 < 29) {
          B[i] = A[i] + 1.0
        }
      } } }
    })");
}

TEST_CASE("a free factor stays a formula and is right at 1, at non-divisors and beyond the extent",
          "[schedule][split]") {
  for (int64_t factor : {1, 2, 3, 7, 9}) {
    CheckSteps(Row(7), "tile t 1 9\nsplit b/i [t]", R"(
      fn f<tile t in 1..=9>(A: f32[7], B: f32[7]) scheduled {
        for i0 in 0..ceildiv(7, t) @b/i.0 { for i1 in 0..t @b/i.1 {
          block b(i: spatial 7 = i0 * t + i1) guard (i0 * t + i1 < 7) { B[i] = A[i] + 1.0 }
        } }
      })",
               {{"t", factor}});
  }
}

TEST_CASE("an inexact split of an inner loop guards it against its neighbour",
          "[schedule][split]") {
  CheckSteps(Row(7), "split b/i [4]\nsplit b/i.1 [3]", R"(
    fn f(A: f32[7], B: f32[7]) scheduled {
      for i0 in 0..2 @b/i.0 { for i10 in 0..2 @b/i.1.0 { for i11 in 0..3 @b/i.1.1 {
        block b(i: spatial 7 = i0 * 4 + (i10 * 3 + i11))
            guard (i0 * 4 + (i10 * 3 + i11) < 7, i10 * 3 + i11 < 4) { B[i] = A[i] + 1.0 }
      } } }
    })");
  CheckStepResult(MatmulFunction(3, 2, 7), "split mm/k [4]\nsplit mm/k.1 [3]");
}

TEST_CASE("a factor that may be below 1 becomes a constraint", "[schedule][split]") {
  SymbolicProgram program = ProgramOf(Row(7), "tile t 1 9\nsplit b/i [t - 1]");
  REQUIRE(program.constraints.size() == 1);
  CHECK(program.constraints[0].why == "a split factor is at least 1");
  CHECK_FALSE(Satisfies(program, {{"t", 1}}));
  CHECK(Satisfies(program, {{"t", 2}}));
  CHECK(ProgramOf(Row(7), "tile t 1 9\nsplit b/i [t]").constraints.empty());
}

TEST_CASE("no index is read beyond its tensor for a window that a gather reads in tiles",
          "[schedule][split]") {
  const std::string placed = "cache_read A [b] global c\ncompute_at c b/i\n";
  SymbolicProgram program = ProgramOf(Gather(), placed + "tile t 1 6\nsplit b/i [t]");
  CHECK(Satisfies(program, {{"t", 3}}));
  CHECK_FALSE(Satisfies(program, {{"t", 4}}));
  CHECK_FALSE(Satisfies(program, {{"t", 5}}));
  CheckStepResult(Gather(), placed + "split b/i [2]");
  CHECK(
      RefusalOf(Gather(), "cache_read A [b] global c\nsplit b/i [4]\ncompute_at c b/i.1") ==
      "compute_at: memory says where the window of 'c' begins, which is read beyond the guards of "
      "block 'b'; place it before splitting");
}

TEST_CASE("split says what is wrong with the loop or the factor", "[schedule][split]") {
  Function mm = MatmulFunction(4, 5, 6);
  CHECK(RefusalOf(mm, "split mm/q [2]") ==
        "no loop 'mm/q' in function 'mm'; it has mm/i, mm/j, mm/k");
  CHECK(RefusalOf(mm, "parallel mm/i\nsplit mm/i [2]") ==
        "split: loop 'mm/i' is parallel; expected a serial loop");
  CHECK(RefusalOf(mm, "bind mm/i threadIdx.x\nsplit mm/i [2]") ==
        "split: loop 'mm/i' is threadIdx.x; expected a serial loop");
  CHECK(RefusalOf(mm, "split mm/i []") == "split: loop 'mm/i' is given no factor");
  CHECK(RefusalOf(mm, "split mm/i [2, 0]") ==
        "split: factor 0 of loop 'mm/i'; expected an integer of at least 1");
  CHECK(RefusalOf(mm, "tile t 1 9\nsplit mm/i [t - 9]") ==
        "split: factor t - 9 of loop 'mm/i'; expected an integer of at least 1");
}
