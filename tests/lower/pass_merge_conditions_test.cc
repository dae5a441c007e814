#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

TEST_CASE("neighbours under one condition are under it together", "[lower][passes]") {
  CheckPass(MergeConditions, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 {
        if i < 1 { B[0] = A[0] } if i < 1 { B[1] = A[1] } if i < 1 { B[2] = A[2] }
        B[3] = A[3]
        if i < 1 { B[4] = A[4] }
      }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 {
        if i < 1 { B[0] = A[0] B[1] = A[1] B[2] = A[2] }
        B[3] = A[3]
        if i < 1 { B[4] = A[4] }
      }
    })");
}

TEST_CASE("conditions inside merged ones are merged in turn", "[lower][passes]") {
  CheckPass(MergeConditions, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 { for j in 0..2 {
        if i < 1 { if j < 1 { B[0] = A[0] } }
        if i < 1 { if j < 1 { B[1] = A[1] } B[2] = A[2] }
      } }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 { for j in 0..2 {
        if i < 1 { if j < 1 { B[0] = A[0] B[1] = A[1] } B[2] = A[2] }
      } }
    })");
}

TEST_CASE("conditions that read memory are not merged, for the first body may write it",
          "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      if B[0] < 1.0 { B[0] = A[0] + 1.0 } if B[0] < 1.0 { B[1] = A[1] }
    })";
  CheckPass(MergeConditions, text, text);
}

TEST_CASE("conditions with an else are not merged", "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 {
        if i < 1 { B[0] = A[0] } else { B[0] = 1.0 } if i < 1 { B[1] = A[1] }
      }
    })";
  CheckPass(MergeConditions, text, text);
}
