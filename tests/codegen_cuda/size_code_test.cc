#include "codegen_cuda/text/size_code.h"

#include <catch2/catch.hpp>

using namespace tcc;

TEST_CASE("sizes over shapes evaluate as their expressions do", "[codegen_cuda]") {
  Var n = ShapeVar("N", 1, 1000), m = ShapeVar("M", 1, 1000);
  std::vector<Var> shapes = {n, m};
  auto at = [&](const Expr& expr, int64_t n_value, int64_t m_value) {
    return *Evaluate(SizeCodeOf(expr, shapes), std::vector<int64_t>{n_value, m_value});
  };
  CHECK(at(Expr(7), 1, 1) == 7);
  CHECK(at(n, 5, 3) == 5);
  CHECK(at(n * 4 + m, 5, 3) == 23);
  CHECK(at(n - m, 5, 3) == 2);
  CHECK(at(CeilDivide(n, 128), 129, 1) == 2);
  CHECK(at(FloorDivide(n + 127, 128), 129, 1) == 2);
  CHECK(at(FloorModulo(n, m), 17, 5) == 2);
  CHECK(at(MinOf(n, m), 17, 5) == 5);
  CHECK(at(MaxOf(n, Expr(64)), 17, 5) == 64);
  CHECK(at(SelectOf(n < m, n, m * 2), 5, 3) == 6);
  CHECK(at(SelectOf(n <= m, n, m * 2), 3, 3) == 3);
  CHECK(at(SelectOf(Make<Ne>(n, m), n, Expr(0)), 3, 3) == 0);
  CHECK(at(CastTo(kInt64, BothOf(n > m, Make<Not>(Make<Eq>(m, Expr(4))))), 5, 3) == 1);
  CHECK(at(CastTo(kInt64, EitherOf(n > m, Make<Eq>(m, Expr(4)))), 3, 3) == 0);
  // The arm that is not taken does no harm.
  CHECK(at(SelectOf(n <= m, Expr(7), FloorDivide(n, n - m)), 3, 3) == 7);
}

TEST_CASE("formulas of floats, loads and other variables have no size code", "[codegen_cuda]") {
  Var n = ShapeVar("N", 1, 1000);
  CHECK(HasSizeCode(SelectOf(n < 4, CastTo(kInt64, n >= 2), CeilDivide(n, 3))));
  CHECK_FALSE(HasSizeCode(n + LoopVar("i")));
  CHECK_FALSE(HasSizeCode(CastTo(kInt64, CastTo(kFloat32, n))));
  CHECK_FALSE(HasSizeCode(CastTo(kInt64, CastTo(kInt32, n))));
  CHECK_FALSE(HasSizeCode(CallOf(ScalarOp::kAbs, {n})));
}
