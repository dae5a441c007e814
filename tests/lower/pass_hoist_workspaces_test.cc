#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

TEST_CASE("a global buffer of each block becomes a part of one round the launch",
          "[lower][hoist_workspaces]") {
  CheckPass(HoistWorkspaces, R"(
    fn f(A: f32[24], B: f32[6]) scheduled {
      for x in 0..2 blockIdx.x @x {
        alloc P: f32[12]
        for p in 0..4 blockIdx.y @p { for i in 0..3 @i { P[p * 3 + i] = A[x * 12 + p * 3 + i] } }
        for i in 0..3 @j { B[x * 3 + i] = P[i] + P[3 + i] + P[6 + i] + P[9 + i] }
      }
    })",
            R"(
    fn f(A: f32[24], B: f32[6]) scheduled {
      alloc P: f32[24]
      for x in 0..2 blockIdx.x @x {
        for p in 0..4 blockIdx.y @p {
          for i in 0..3 @i { P[x * 12 + (p * 3 + i)] = A[x * 12 + p * 3 + i] }
        }
        for i in 0..3 @j {
          B[x * 3 + i] =
              P[x * 12 + i] + P[x * 12 + (3 + i)] + P[x * 12 + (6 + i)] + P[x * 12 + (9 + i)]
        }
      }
    })");
}

TEST_CASE("what is round the launch, or in a loop that is no block's, stays",
          "[lower][hoist_workspaces]") {
  for (const char* text : {R"(
    fn f(A: f32[6], B: f32[6]) scheduled {
      alloc P: f32[6]
      for x in 0..6 blockIdx.x @x { P[x] = A[x] }
      for x in 0..6 blockIdx.x @y { B[x] = P[x] }
    })",
                           R"(
    fn f(A: f32[6], B: f32[6]) scheduled {
      for x in 0..6 @x { alloc P: f32[1] P[0] = A[x] B[x] = P[0] }
    })"}) {
    CheckPass(HoistWorkspaces, text, text);
  }
}
