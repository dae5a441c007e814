#include <catch2/catch.hpp>

#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

TEST_CASE("an unrolled loop is its iterations in order", "[lower][passes]") {
  CheckPass(UnrollLoops, R"(
    fn f(A: f32[3], B: f32[3]) lowered { for i in 0..3 unrolled { B[i] = A[i] + 1.0 } })",
            R"(
    fn f(A: f32[3], B: f32[3]) lowered {
      B[0] = A[0] + 1.0
      B[1] = A[1] + 1.0
      B[2] = A[2] + 1.0
    })");
}

TEST_CASE("nested unrolled loops and an extent of 1 leave no loop", "[lower][passes]") {
  CheckPass(UnrollLoops, R"(
    fn f(A: f32[2], B: f32[2]) lowered {
      for i in 0..1 unrolled { for j in 0..2 unrolled { B[i + j] = A[i + j] } }
    })",
            R"(fn f(A: f32[2], B: f32[2]) lowered { B[0] = A[0] B[1] = A[1] })");
}

TEST_CASE("copies define variables and buffers of their own", "[lower][passes]") {
  CheckPass(UnrollLoops, R"(
    fn f(A: f32[4], B: f32[4]) lowered {
      for i in 0..2 unrolled {
        alloc T: f32[2] local
        for j in 0..2 { T[j] = A[i * 2 + j] }
        let x = T[0] + T[1]
        for j in 0..2 { B[i * 2 + j] = x }
      }
    })",
            R"(
    fn f(A: f32[4], B: f32[4]) lowered {
      alloc T: f32[2] local in {
        for j in 0..2 { T[j] = A[j] }
        let x = T[0] + T[1]
        for j in 0..2 { B[j] = x }
      }
      alloc U: f32[2] local in {
        for j in 0..2 { U[j] = A[2 + j] }
        let y = U[0] + U[1]
        for j in 0..2 { B[2 + j] = y }
      }
    })");
}

TEST_CASE("an unrolled loop of unknown extent becomes serial", "[lower][passes]") {
  Function fn = ParsedFunction(R"(
    fn f<shape N in 0..=9>(A: f32[N], B: f32[N]) lowered {
      for i in 0..N unrolled { B[i] = A[i] }
    })");
  Function want = ParsedFunction(R"(
    fn f<shape N in 0..=9>(A: f32[N], B: f32[N]) lowered { for i in 0..N { B[i] = A[i] } })");
  CHECK(EqualUpToNames(UnrollLoops(fn), want));
}

TEST_CASE("an unrolled loop without iterations leaves nothing", "[lower][passes]") {
  CheckPass(UnrollLoops, R"(
    fn f(A: f32[3], B: f32[3]) lowered {
      for i in 0..0 unrolled { B[i] = A[i] }
      for i in 0..3 { B[i] = 2.0 }
    })",
            "fn f(A: f32[3], B: f32[3]) lowered { for i in 0..3 { B[i] = 2.0 } }");
}
