#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

TEST_CASE("versions of statements by one condition come together, with what stands between",
          "[lower][passes]") {
  CheckPass(UnswitchSequences, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 {
        if i < 1 { B[0] = A[0] } else { B[0] = 2.0 }
        B[1] = A[1]
        if i < 1 { B[2] = A[2] } else { B[2] = 3.0 }
        if i < 1 { B[3] = A[3] }
      }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 {
        if i < 1 { B[0] = A[0] B[1] = A[1] B[2] = A[2] B[3] = A[3] }
        else { B[0] = 2.0 B[1] = A[1] B[2] = 3.0 }
      }
    })");
}

TEST_CASE("in a version, a part of a condition that it knows is not asked again",
          "[lower][passes]") {
  CheckPass(UnswitchSequences, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..3 {
        if i < 2 { B[0] = A[0] } else { B[0] = 2.0 }
        if i < 2 { B[1] = A[1] } else { B[1] = 3.0 }
        if 0 < i && i < 2 { B[2] = A[2] } else { B[2] = 4.0 }
      }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..3 {
        if i < 2 { B[0] = A[0] B[1] = A[1] if 0 < i { B[2] = A[2] } else { B[2] = 4.0 } }
        else { B[0] = 2.0 B[1] = 3.0 B[2] = 4.0 }
      }
    })");
}

TEST_CASE("a condition inside a loop decides versions of the code round the loop",
          "[lower][passes]") {
  CheckPass(UnswitchSequences, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 {
        if i < 1 { B[0] = A[0] } else { B[0] = 2.0 }
        for j in 0..3 { if i < 1 { B[j + 1] = A[j] } else { B[j + 1] = 3.0 } }
      }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 {
        if i < 1 { B[0] = A[0] for j in 0..3 { B[j + 1] = A[j] } }
        else { B[0] = 2.0 for j in 0..3 { B[j + 1] = 3.0 } }
      }
    })");
}

TEST_CASE("versions stay apart by conditions that read memory, change, or differ",
          "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      if B[0] < 1.0 { B[0] = A[0] + 1.0 } else { B[0] = 2.0 }
      if B[0] < 1.0 { B[1] = A[1] } else { B[1] = 2.0 }
      for i in 0..2 { if i < 1 { B[2] = A[2] } else { B[2] = 3.0 } }
      for i in 0..2 {
        if i < 1 { B[3] = A[3] } else { B[3] = 3.0 }
        if 0 < i { B[4] = A[4] } else { B[4] = 3.0 }
      }
    })";
  CheckPass(UnswitchSequences, text, text);
}

TEST_CASE("versions in code of threads stay apart: all threads meet at what stands between",
          "[lower][passes]") {
  const char* text = R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for i in 0..2 threadIdx.x {
        if i < 1 { B[0] = A[0] } else { B[0] = 2.0 }
        if i < 1 { B[2] = A[2] } else { B[2] = 3.0 }
      }
    })";
  CheckPass(UnswitchSequences, text, text);
}
