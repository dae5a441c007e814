#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

TEST_CASE("a condition that the bounds decide is gone, and with it what never runs",
          "[lower][passes][resolve_conditions]") {
  CheckPass(ResolveConditions, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..8 {
        if i < 8 && 3 <= i { B[i] = A[i] } else { B[i] = 2.0 }
        if 9 < i { B[i] = 3.0 }
        if 0 <= i { B[i] = B[i] + 1.0 } else { B[i] = 4.0 }
      }
      for i in 0..8 { if 8 <= i { B[i] = 5.0 } }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..8 {
        if 3 <= i { B[i] = A[i] } else { B[i] = 2.0 }
        B[i] = B[i] + 1.0
      }
    })");
}

TEST_CASE("a select whose condition is decided is one of its values",
          "[lower][passes][resolve_conditions]") {
  CheckPass(ResolveConditions, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..8 {
        B[i] = select(i < 8, A[i], 0.0) + select(i < 0, 1.0, 2.0) + select(i < 4, 3.0, 4.0)
      }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..8 { B[i] = A[i] + 2.0 + select(i < 4, 3.0, 4.0) }
    })");
}
