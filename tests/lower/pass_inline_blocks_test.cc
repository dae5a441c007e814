#include <catch2/catch.hpp>

#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

TEST_CASE("a block that always exists becomes its body", "[lower][passes]") {
  CheckPass(InlineBlocks, R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      for i0 in 0..2 @b/i.0 { for i1 in 0..4 @b/i.1 {
        block b(i: spatial 8 = i0 * 4 + i1) { B[i] = A[i] + 1.0 }
      } }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      for i0 in 0..2 @b/i.0 { for i1 in 0..4 @b/i.1 {
        B[i0 * 4 + i1] = A[i0 * 4 + i1] + 1.0
      } }
    })");
}

TEST_CASE("a domain that a binding may leave becomes a condition", "[lower][passes]") {
  CheckPass(InlineBlocks, R"(
    fn f(A: f32[5], B: f32[5]) scheduled {
      for i in 0..9 @b/i { block b(i: spatial 5 = i - 2) { B[i] = A[i] + 1.0 } }
    })",
            R"(
    fn f(A: f32[5], B: f32[5]) scheduled {
      for i in 0..9 @b/i { if 0 <= i - 2 && i - 2 < 5 { B[i - 2] = A[i - 2] + 1.0 } }
    })");
}

TEST_CASE("a loop of a free extent stays below it, fused with another as well", "[lower][passes]") {
  auto check = [](const std::string& loops, const std::string& before, const std::string& after) {
    const std::string head =
        "fn f<shape n in 1..=64 usual 8, shape m in 1..=64 usual 9>"
        "(A: f32[n, m], B: f32[n, m]) scheduled { " +
        loops;
    Function got = InlineBlocks(ParsedFunction(head + before + " } }"));
    Function want = ParsedFunction(head + after + " } }");
    INFO(Print(got) << Print(want));
    CHECK(EqualUpToNames(got, want));
  };
  check("for i in 0..n @b/i { ", "block b(i: spatial n = i) { B[i, 0] = A[i, 0] }",
        "B[i, 0] = A[i, 0]");
  check("for f in 0..n * m @b/f { ",
        "block b(i: spatial n = f div m, j: spatial m = f mod m) { B[i, j] = A[i, j] }",
        "B[f div m, f mod m] = A[f div m, f mod m]");
  // One iteration too many, and the other axis.
  check("for i in 0..n + 1 @b/i { ", "block b(i: spatial n = i) { B[i, 0] = A[i, 0] }",
        "if i < n { B[i, 0] = A[i, 0] }");
  check("for i in 0..m @b/i { ", "block b(i: spatial n = i) { B[i, 0] = A[i, 0] }",
        "if i < n { B[i, 0] = A[i, 0] }");
}

TEST_CASE("a guard becomes a condition", "[lower][passes]") {
  CheckPass(InlineBlocks, R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      for i in 0..8 @b/i { block b(j: spatial 8 = i) guard (i < 5) { B[j] = A[j] } }
    })",
            R"(
    fn f(A: f32[8], B: f32[8]) scheduled {
      for i in 0..8 @b/i { if i < 5 { B[i] = A[i] } }
    })");
}

TEST_CASE("the first instance initialises before the predicate is asked", "[lower][passes]") {
  CheckPass(InlineBlocks, R"(
    fn f(A: f32[6], C: f32[3]) scheduled {
      for i in 0..3 @b/i { for k in 0..6 @b/k {
        block b(i: spatial 3 = i, k: reduce 6 = k) where i < k {
          reduce sum_f32 init (C[i]) with (A[k])
        }
      } }
    })",
            R"(
    fn f(A: f32[6], C: f32[3]) scheduled {
      for i in 0..3 @b/i { for k in 0..6 @b/k {
        if k == 0 { C[i] = 0.0 }
        if i < k { C[i] = C[i] + A[k] }
      } }
    })");
}

TEST_CASE("a decomposed reduction has no initialisation", "[lower][passes]") {
  CheckPass(InlineBlocks, R"(
    fn f(A: f32[6], C: f32[1]) scheduled {
      block b.init() { C[0] = 0.0 }
      for k in 0..6 @b/k { block b(k: reduce 6 = k) { reduce sum_f32 (C[0]) with (A[k]) } }
    })",
            R"(
    fn f(A: f32[6], C: f32[1]) scheduled {
      C[0] = 0.0
      for k in 0..6 @b/k { C[0] = C[0] + A[k] }
    })");
}

TEST_CASE("the elements of a tuple change at once", "[lower][passes]") {
  Function fn = ParsedFunction(R"(
    fn f(A: f32[9], M: f32[1], L: f32[1]) scheduled {
      for k in 0..9 @b/k {
        block b(k: reduce 9 = k) { reduce softmax_f32 init (M[0], L[0]) with (A[k], 1.0) }
      }
    })");
  Function inlined = InlineBlocks(fn);
  // What comes in, and the new values.
  CHECK(CountKind(inlined, StmtKind::kLet) == 3);
  CHECK(CountKind(inlined, StmtKind::kBlock) == 0);
  CheckSameResult(inlined, fn);
}

TEST_CASE("a block that never exists leaves nothing", "[lower][passes]") {
  CheckPass(InlineBlocks, R"(
    fn f(A: f32[5], B: f32[5]) scheduled {
      for i in 0..5 @b/i { block b(i: spatial 5 = i) { B[i] = A[i] } }
      for i in 0..5 @c/i { block c(i: spatial 5 = i + 5) { B[i] = 2.0 } }
    })",
            R"(
    fn f(A: f32[5], B: f32[5]) scheduled { for i in 0..5 @b/i { B[i] = A[i] } })");
}
