#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

TEST_CASE("an innermost loop gets a version without its constant conditions", "[lower][passes]") {
  CheckPass(UnswitchLoops, R"(
    fn f(A: f32[32], B: f32[32]) lowered {
      for i in 0..8 { for j in 0..4 {
        B[i * 4 + j] = 1.0
        if i < 5 { B[i * 4 + j] = A[i * 4 + j] }
        if 2 < i { B[i * 4 + j] = B[i * 4 + j] + 3.0 }
      } }
    })",
            R"(
    fn f(A: f32[32], B: f32[32]) lowered {
      for i in 0..8 {
        if i < 5 && 2 < i {
          for j in 0..4 {
            B[i * 4 + j] = 1.0
            B[i * 4 + j] = A[i * 4 + j]
            B[i * 4 + j] = B[i * 4 + j] + 3.0
          }
        } else {
          for j in 0..4 {
            B[i * 4 + j] = 1.0
            if i < 5 { B[i * 4 + j] = A[i * 4 + j] }
            if 2 < i { B[i * 4 + j] = B[i * 4 + j] + 3.0 }
          }
        }
      }
    })");
}

TEST_CASE(
    "a version where the only condition fails does not ask for it, nor stand where it is empty",
    "[lower][passes]") {
  CheckPass(UnswitchLoops, R"(
    fn f(A: f32[32], B: f32[32]) lowered {
      for i in 0..8 { for j in 0..4 {
        if i < 5 { B[i * 4 + j] = A[i * 4 + j] } else { B[i * 4 + j] = 2.0 }
      } }
      for k in 0..8 { for l in 0..4 { if k < 5 { B[k * 4 + l] = A[k * 4 + l] } } }
    })",
            R"(
    fn f(A: f32[32], B: f32[32]) lowered {
      for i in 0..8 {
        if i < 5 {
          for j in 0..4 { B[i * 4 + j] = A[i * 4 + j] }
        } else {
          for j in 0..4 { B[i * 4 + j] = 2.0 }
        }
      }
      for k in 0..8 { if k < 5 { for l in 0..4 { B[k * 4 + l] = A[k * 4 + l] } } }
    })");
}

TEST_CASE("conditions that change in the loop, read memory or use a let stay", "[lower][passes]") {
  const char* texts[] = {
      R"(fn f(A: f32[8], B: f32[8]) lowered {
           for i in 0..8 { B[i] = 1.0 if i < 5 { B[i] = A[i] } }
         })",
      R"(fn f(A: f32[8], B: f32[8]) lowered {
           for i in 0..8 { B[i] = 1.0 if A[0] < 5.0 { B[i] = A[i] } }
         })",
      R"(fn f(A: f32[8], B: f32[8]) lowered {
           for i in 0..8 { B[i] = 1.0 let x = i * 2 in { if x < 5 { B[i] = A[i] } } }
         })"};
  for (const char* text : texts) CheckPass(UnswitchLoops, text, text);
}

TEST_CASE("only innermost serial loops are doubled", "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[32], B: f32[32]) lowered {
      for h in 0..2 { for i in 0..4 parallel {
        B[h * 16 + i * 4] = 1.0
        if h < 1 { B[h * 16 + i * 4] = A[i] }
      } }
    })";
  CheckPass(UnswitchLoops, text, text);
}

TEST_CASE("the version without conditions takes the first branch", "[lower][passes]") {
  Function fn = ParsedFunction(R"(
    fn f(A: f32[32], B: f32[32]) lowered {
      for i in 0..8 { for j in 0..4 {
        if i < 5 { B[i * 4 + j] = A[i * 4 + j] } else { B[i * 4 + j] = 7.0 }
        if 2 < i { let x = B[i * 4 + j] in { B[i * 4 + j] = x + 3.0 } }
      } }
    })");
  CheckSameResult(UnswitchLoops(fn), fn);
}
