#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

TEST_CASE("a condition moves to the outermost loop that decides it", "[lower][passes]") {
  CheckPass(HoistConditions, R"(
    fn f(A: f32[40], B: f32[40]) lowered {
      for i in 0..4 { for j in 0..5 { for k in 0..2 {
        if i < 3 && j < 4 { B[i * 10 + j * 2 + k] = A[i * 10 + j * 2 + k] }
      } } }
    })",
            R"(
    fn f(A: f32[40], B: f32[40]) lowered {
      for i in 0..4 { if i < 3 { for j in 0..5 { if j < 4 { for k in 0..2 {
        B[i * 10 + j * 2 + k] = A[i * 10 + j * 2 + k]
      } } } } }
    })");
}

TEST_CASE("a part of a condition moves, the rest stays", "[lower][passes]") {
  CheckPass(HoistConditions, R"(
    fn f(A: f32[8], B: f32[8], n: i64[1]) lowered {
      for i in 0..2 { for j in 0..4 { if j < 3 && i < 1 { B[i * 4 + j] = A[i * 4 + j] } } }
    })",
            R"(
    fn f(A: f32[8], B: f32[8], n: i64[1]) lowered {
      for i in 0..2 { if i < 1 { for j in 0..4 { if j < 3 { B[i * 4 + j] = A[i * 4 + j] } } } }
    })");
}

TEST_CASE("a condition that reads memory stays, for the body may write it", "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..8 { if A[0] < B[0] + 1.0 { B[i] = A[i] + 3.0 } }
    })";
  CheckPass(HoistConditions, text, text);
}

TEST_CASE("a condition that reads what nobody writes moves before all that may guard its load",
          "[lower][passes]") {
  CheckPass(HoistConditions, R"(
    fn f(A: f32[8], C: f32[4], B: f32[8]) lowered {
      for i in 0..2 { for j in 0..4 { if i < 1 && C[i] < 1.0 && j < 3 && C[i + 2] < 1.0 {
        B[i * 4 + j] = A[i * 4 + j]
      } } }
    })",
            R"(
    fn f(A: f32[8], C: f32[4], B: f32[8]) lowered {
      for i in 0..2 { if i < 1 && C[i] < 1.0 { for j in 0..4 { if j < 3 && C[i + 2] < 1.0 {
        B[i * 4 + j] = A[i * 4 + j]
      } } } }
    })");
}

TEST_CASE("a condition with an else stays", "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 { for j in 0..4 {
        if i < 1 { B[i * 4 + j] = 1.0 } else { B[i * 4 + j] = 2.0 }
      } }
    })";
  CheckPass(HoistConditions, text, text);
}

TEST_CASE("a condition of one statement among several stays", "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 { for j in 0..4 { B[i * 4 + j] = 1.0 if i < 1 { B[i * 4 + j] = 2.0 } } }
    })";
  CheckPass(HoistConditions, text, text);
}
