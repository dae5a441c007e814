#include "codegen_cuda/text/gpu_kernel.h"

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
}
