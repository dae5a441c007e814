#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

using namespace tcc;

TEST_CASE("a vectorized loop becomes one statement of ramps", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[32], B: f32[32], s: f32[1]) lowered {
      for i in 0..4 { for j in 0..8 vectorized { B[i * 8 + j] = A[i * 8 + j] * s[0] + 1.0 } }
    })",
            R"(
    fn f(A: f32[32], B: f32[32], s: f32[1]) lowered {
      for i in 0..4 {
        B[ramp(i * 8, 1, 8)] =
            A[ramp(i * 8, 1, 8)] * broadcast(s[0], 8) + broadcast(1.0, 8)
      }
    })");
}

TEST_CASE("a tail gets a masked version beside the whole one", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[13], B: f32[13]) lowered {
      for i in 0..2 { for j in 0..8 vectorized {
        if i * 8 + j < 13 { B[i * 8 + j] = A[i * 8 + j] }
      } }
    })",
            R"(
    fn f(A: f32[13], B: f32[13]) lowered {
      for i in 0..2 {
        if i * 8 + 7 < 13 {
          B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8)]
        } else {
          B[ramp(i * 8, 1, 8)] = A[ramp(i * 8, 1, 8)] mask ramp(i * 8, 1, 8) < broadcast(13, 8)
        }
      }
    })");
}

TEST_CASE("skipped tiles of whole vectors computed masked numbers", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[64], B: f32[64]) lowered {
      for i in 0..3 { for k in 0..3 { for j in 0..8 vectorized {
        if i * 24 + k * 8 + j < 64 { B[i * 24 + k * 8 + j] = A[i * 24 + k * 8 + j] }
      } } }
    })",
            R"(
    fn f(A: f32[64], B: f32[64]) lowered {
      for i in 0..3 { for k in 0..3 {
        if i * 3 + k < 8 {
          B[ramp(i * 24 + k * 8, 1, 8)] = A[ramp(i * 24 + k * 8, 1, 8)]
        }
      } }
    })");
}

TEST_CASE("the lanes of a thread reach a barrier together", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[16], B: f32[16]) lowered {
      alloc S: f32[16] shared
      for t in 0..2 threadIdx.x { for j in 0..8 vectorized {
        S[t * 8 + j] = A[t * 8 + j]
        barrier(shared)
        B[t * 8 + j] = S[8 - t * 8 + j]
      } }
    })",
            R"(
    fn f(A: f32[16], B: f32[16]) lowered {
      alloc S: f32[16] shared
      for t in 0..2 threadIdx.x {
        S[ramp(t * 8, 1, 8)] = A[ramp(t * 8, 1, 8)]
        barrier(shared)
        B[ramp(t * 8, 1, 8)] = S[ramp(8 - t * 8, 1, 8)]
      }
    })");
}

TEST_CASE("a falling condition is decided by the first lane", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[16], B: f32[16]) lowered {
      for i in 0..2 { for j in 0..8 vectorized {
        if 3 <= i * 8 + j { B[i * 8 + j] = A[i * 8 + j - 3] }
      } }
    })",
            R"(
    fn f(A: f32[16], B: f32[16]) lowered {
      for i in 0..2 {
        if 3 <= i * 8 {
          B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 - 3, 1, 8)]
        } else {
          B[ramp(i * 8, 1, 8)] = A[ramp(i * 8 - 3, 1, 8)] mask broadcast(3, 8) <= ramp(i * 8, 1, 8)
        }
      }
    })");
}

TEST_CASE("a condition that is the same in every lane stays a branch", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[16], B: f32[16]) lowered {
      for i in 0..2 { for j in 0..8 vectorized {
        if i < 1 { B[i * 8 + j] = A[j] } else { B[i * 8 + j] = 2.0 }
      } }
    })",
            R"(
    fn f(A: f32[16], B: f32[16]) lowered {
      for i in 0..2 {
        if i < 1 { B[ramp(i * 8, 1, 8)] = A[ramp(0, 1, 8)] }
        else { B[ramp(i * 8, 1, 8)] = broadcast(2.0, 8) }
      }
    })");
}

TEST_CASE("both branches of a condition that differs between lanes are masked", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      for j in 0..8 vectorized { if j < 5 { B[j] = A[j] } else { B[j] = 2.0 } }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) lowered {
      B[ramp(0, 1, 8)] = A[ramp(0, 1, 8)] mask ramp(0, 1, 8) < broadcast(5, 8)
      B[ramp(0, 1, 8)] = broadcast(2.0, 8) mask !(ramp(0, 1, 8) < broadcast(5, 8))
    })");
}

TEST_CASE("an index that is not affine gathers", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[8], B: f32[8], I: i64[8]) lowered {
      for j in 0..8 vectorized { B[j] = A[j mod 3] + A[j * j div 8] }
    })",
            R"(
    fn f(A: f32[8], B: f32[8], I: i64[8]) lowered {
      B[ramp(0, 1, 8)] = A[ramp(0, 1, 8) mod broadcast(3, 8)] +
                         A[ramp(0, 1, 8) * ramp(0, 1, 8) div broadcast(8, 8)]
    })");
  Function indirect = ParsedFunction(R"(
    fn f(A: f32[8], B: f32[8], I: i64[8]) lowered {
      for j in 0..8 vectorized { B[j] = A[(I[j] + 8) mod 8] }
    })");
  CheckSameResult(VectorizeLoops(indirect), indirect);
}

TEST_CASE("a loop that stores to one cell stays serial", "[lower][passes]") {
  CheckPass(VectorizeLoops, R"(
    fn f(A: f32[8], B: f32[1]) lowered { for j in 0..8 vectorized { if j < 1 { B[0] = A[j] } } })",
            R"(
    fn f(A: f32[8], B: f32[1]) lowered { for j in 0..8 { if j < 1 { B[0] = A[j] } } })");
}

TEST_CASE("one lane is no loop and too many lanes stay one", "[lower][passes]") {
  CheckPass(VectorizeLoops,
            "fn f(A: f32[1], B: f32[1]) lowered { for j in 0..1 vectorized { B[j] = A[j] } }",
            "fn f(A: f32[1], B: f32[1]) lowered { B[0] = A[0] }");
  CheckPass(VectorizeLoops,
            "fn f(A: f32[300], B: f32[300]) lowered { for j in 0..300 vectorized { B[j] = A[j] } }",
            "fn f(A: f32[300], B: f32[300]) lowered { for j in 0..300 { B[j] = A[j] } }");
}

TEST_CASE("a let under a mask loads nothing where no lane is alive", "[lower][passes]") {
  const char* texts[] = {
      // The value differs between lanes.
      R"(fn f(A: f32[5], B: f32[16]) lowered {
           for i in 0..2 { for j in 0..8 vectorized {
             B[i * 8 + j] = 0.0
             if i * 8 + j < 5 { let x = A[i * 8 + j] in { B[i * 8 + j] = x * x } }
           } }
         })",
      // The value is the same in every lane, and out of bounds where none is alive.
      R"(fn f(A: f32[1], B: f32[16]) lowered {
           for i in 0..2 { for j in 0..8 vectorized {
             B[i * 8 + j] = 0.0
             if i * 8 + j < 5 { let x = A[i] in { B[i * 8 + j] = x * x } }
           } }
         })",
      R"(fn f(A: f32[1], B: f32[16]) lowered {
           for i in 0..2 { for j in 0..8 vectorized {
             B[i * 8 + j] = 0.0
             if i * 8 + j < 5 { B[i * 8 + j] = A[i] + 1.0 }
           } }
         })"};
  for (const char* text : texts) {
    Function fn = ParsedFunction(text);
    CheckSameResult(VectorizeLoops(fn), fn);
  }
}

TEST_CASE(
    "conditions inside conditions, loops and unrolled loops inside vectors keep their meaning",
    "[lower][passes]") {
  const char* texts[] = {
      R"(fn f(A: f32[16], B: f32[16]) lowered {
           for i in 0..2 { for j in 0..8 vectorized {
             B[i * 8 + j] = 0.0
             if i * 8 + j < 11 {
               if 2 < j { B[i * 8 + j] = A[i * 8 + j] } else { B[i * 8 + j] = 5.0 }
             }
           } }
         })",
      R"(fn f(A: f32[16], B: f32[16]) lowered {
           for j in 0..8 vectorized {
             B[j] = 0.0
             B[j + 8] = 1.0
             for k in 0..4 { if k < j { B[j] = B[j] + A[j + k] } }
           }
         })",
      R"(fn f(A: f32[16], B: f32[16]) lowered {
           for j in 0..8 vectorized {
             for k in 0..2 unrolled {
               if j * 2 + k < 13 && A[j] < 0.5 { B[j * 2 + k] = A[j * 2 + k] }
             }
           }
         })"};
  for (const char* text : texts) {
    Function fn = ParsedFunction(text);
    CheckSameResult(VectorizeLoops(fn), fn);
  }
}
