#include <catch2/catch.hpp>

#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

namespace {

// Checks that the pass turns one text into the other, and keeps the result at each size.
void CheckAtSizes(const std::string& before, const std::string& after,
                  const std::vector<int64_t>& sizes) {
  Function original = ParsedFunction(before);
  Function got = ResolveConditions(original);
  INFO(Print(got));
  CHECK(EqualUpToNames(Simplify(got), Simplify(ParsedFunction(after))));
  for (int64_t size : sizes) {
    auto at = [&](const Function& fn) {
      return Simplify(Substitute(fn, Substitution{{fn.vars[0], Expr(size)}}));
    };
    CheckSameResult(at(got), at(original));
  }
}

}  // namespace

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

TEST_CASE("with free extents a branch decides what differs from it by a number",
          "[lower][passes][resolve_conditions]") {
  CheckAtSizes(R"(
    fn f<shape n in 1..=50>(A: f32[64], B: f32[64]) lowered {
      for i in 0..7 {
        if i * 8 < n - 7 {
          if i * 8 < n { B[i] = A[i] } else { B[i] = 2.0 }
          if i * 8 < n - 8 { B[i] = 3.0 }
        } else {
          if i * 8 < n - 9 { B[i] = 4.0 } else { B[i] = 5.0 }
          if i * 8 <= n - 8 { B[i] = 6.0 } else { B[i] = 7.0 }
          if i * 8 < n && i < 3 { B[i] = 8.0 }
        }
        if i * 8 < n && i < 3 { B[i] = B[i] + 1.0 } else {
          if i * 8 < n { B[i] = 9.0 }
        }
      }
    })",
               R"(
    fn f<shape n in 1..=50>(A: f32[64], B: f32[64]) lowered {
      for i in 0..7 {
        if i * 8 < n - 7 {
          B[i] = A[i]
          if i * 8 < n - 8 { B[i] = 3.0 }
        } else {
          B[i] = 5.0
          B[i] = 7.0
          if i * 8 < n && i < 3 { B[i] = 8.0 }
        }
        if i * 8 < n && i < 3 { B[i] = B[i] + 1.0 } else {
          if i * 8 < n { B[i] = 9.0 }
        }
      }
    })",
               {1, 6, 7, 8, 9, 15, 16, 17, 24, 49, 50});
}

TEST_CASE("a branch on a loaded value decides nothing", "[lower][passes][resolve_conditions]") {
  const char* text = R"(
    fn f<shape n in 1..=50>(A: i64[64], B: f32[64]) lowered {
      for i in 0..n {
        if A[i] < n { B[i] = 1.0 if A[i] < n { B[i] = 2.0 } }
      }
    })";
  CheckAtSizes(text, text, {1, 50});
}

TEST_CASE("branches decide nothing where all extents are numbers",
          "[lower][passes][resolve_conditions]") {
  const char* text = R"(
    fn f(A: f32[64], B: f32[64]) lowered {
      for i in 0..7 { if i < 5 { if i < 6 { B[i] = A[i] } } }
    })";
  CheckPass(ResolveConditions, text, text);
}
