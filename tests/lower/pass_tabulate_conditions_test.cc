#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "ir/expr/visitor.h"
#include "ir/text/printer.h"
#include "lower/passes/passes.h"
#include "tests/lower/pass_check.h"

namespace tcc {
namespace {

// A row of 8 cells and 3 taps, each of 4 channels in two steps; the copies ask `keep`.
Function Taps(const std::string& keep) {
  return ParsedFunction(fmt::format(R"(
    fn f(A: f32[32], N: i64[1], B: f32[96]) lowered {{
      for x in 0..8 {{
        alloc S: f32[2]
        for r in 0..6 {{
          async_copy S[0] from A[x * 4 + r div 2 * 4 + r mod 2 * 2 - 4] count 2 where {}
          async_commit
          async_wait(0)
          for i in 0..2 {{ B[x * 12 + r * 2 + i] = S[i] }}
        }}
      }}
    }})",
                                    keep));
}

int CountBits(const Function& fn) {
  int bits = 0;
  PreOrderExprs(fn.body, [&](const Expr& expr) {
    const auto* call = expr.as<Call>();
    bits += call && call->op == ScalarOp::kShiftRight;
  });
  return bits;
}

}  // namespace

TEST_CASE("the condition of a tap is a bit that is computed before the loop",
          "[lower][passes][tabulate_conditions]") {
  Function before = Taps("0 < x + r div 2 && x + r div 2 < 9");
  Function after = TabulateConditions(before);
  INFO(Print(after));
  CHECK(Print(after).find("let kept = select(0 < x && x < 9, 1:u32, 0) + ") != std::string::npos);
  CHECK(Print(after).find("where bit_and(shift_right(kept, u32(r div 2)), 1) == 1") !=
        std::string::npos);
  CheckSameResult(after, before);
}

TEST_CASE("conditions that groups of iterations do not share stay where they are",
          "[lower][passes][tabulate_conditions]") {
  // Each iteration has its own; it loads; the loop alone decides it.
  for (const char* keep :
       {"0 < x + r && x + r < 9 && x + r div 2 < 9 && 0 < x + r div 2",
        "0 < x + r div 2 && x + r div 2 < 9 && N[0] < x + r div 2", "r div 2 == 1"}) {
    INFO(keep);
    CHECK(CountBits(TabulateConditions(Taps(keep))) == 0);
  }
}

TEST_CASE("copies with one condition share its bits", "[lower][passes][tabulate_conditions]") {
  Function before = ParsedFunction(R"(
    fn f(A: f32[32], B: f32[96]) lowered {
      for x in 0..8 {
        alloc S: f32[2]
        for r in 0..6 {
          async_copy S[0] from A[x * 4 + r div 2 * 4 + r mod 2 * 2 - 4] count 1 where 0 < x + r div 2 && x + r div 2 < 9
          async_copy S[1] from A[x * 4 + r div 2 * 4 + r mod 2 * 2 - 3] count 1 where 0 < x + r div 2 && x + r div 2 < 9
          async_commit
          async_wait(0)
          for i in 0..2 { B[x * 12 + r * 2 + i] = S[i] }
        }
      }
    })");
  Function after = TabulateConditions(before);
  INFO(Print(after));
  CHECK(CountBits(after) == 2);
  CHECK(CountKind(after, StmtKind::kLet) == 1);
  CheckSameResult(after, before);
}

}  // namespace tcc
