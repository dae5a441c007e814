#include "ir/simplify/simplify.h"

#include <catch2/catch.hpp>

#include "ir/expr/compare.h"

using namespace tcc;

namespace {

// Loop variables with bounds, tiles, and what they are called in the tests below.
struct Names {
  Var i = LoopVar("i"), j = LoopVar("j"), k = LoopVar("k");
  Var T = TileVar("T", 1, 64), E = ShapeVar("E", 1, 1000);
  Bounds bounds{{i, {0, 7}}, {j, {0, 3}}, {k, {-100, 100}}};
};

bool Same(const Expr& a, const Expr& b, const Bounds& bounds = {}) {
  return Equal(Simplify(a, bounds), b);
}

}  // namespace

TEST_CASE("sums and products of integers become polynomials", "[ir][simplify]") {
  Names v;
  CHECK(Same(v.i + v.j - v.i, v.j));
  CHECK(Same((v.i + 1) * (v.i - 1) - v.i * v.i, Expr(-1)));
  CHECK(Same(2 * v.i + 3 + v.i * 5 - 3, v.i * 7));
  CHECK(Same((v.i * v.T + v.j) * 4, v.i * v.T * 4 + v.j * 4));
  CHECK(Same(0 - v.i + v.T, v.T - v.i));
  CHECK(EqualUpToAlgebra((v.i + v.j) * v.T, v.T * v.j + v.i * v.T));
  CHECK_FALSE(EqualUpToAlgebra(v.i * v.T, v.j * v.T));
  // They are equal at many points.
  CHECK_FALSE(EqualUpToAlgebra(MinOf(v.i, Expr(1000)), v.i));
}

TEST_CASE("multiples of the divisor leave the division", "[ir][simplify]") {
  Names v;
  CHECK(Same(FloorDivide(v.i * v.T, v.T), v.i));
  CHECK(Same(FloorDivide(v.i * v.T * 6 + v.k, v.T), v.i * 6 + FloorDivide(v.k, v.T)));
  CHECK(Same(FloorModulo(v.i * v.T * 6 + v.k, v.T), FloorModulo(v.k, v.T)));
  CHECK(Same(FloorDivide(v.k * 4 + 7, 4), v.k + 1));
  CHECK(Same(FloorDivide(v.i * 4 + v.j, 4), v.i, {{v.j, {0, 3}}}));
  CHECK(Same(FloorModulo(v.i * 4 + v.j, 4), v.j, {{v.j, {0, 3}}}));
  CHECK(Same(CeilDivide(CeilDivide(v.E, 4), v.T), CeilDivide(v.E, v.T * 4)));
  CHECK(Same(FloorDivide(v.k, 4) * 4 + FloorModulo(v.k, 4), v.k));
}

TEST_CASE("bounds decide minima, divisions and comparisons", "[ir][simplify]") {
  Names v;
  CHECK(Same(MinOf(v.i, 7), v.i, v.bounds));
  CHECK(Same(MaxOf(v.i + 1, v.j - 4), v.i + 1, v.bounds));
  CHECK(Same(v.i * 4 + v.j < 32, True(), v.bounds));
  CHECK(Same(v.i * 4 + v.j < 31, v.i * 4 + v.j < 31, v.bounds));
  CHECK(Same(v.i * 4 < 31, v.i < 8, {}));
  CHECK(Same(v.T >= 1, True()));
}

TEST_CASE("a multiple of a quotient is within a divisor of what was divided", "[ir][simplify]") {
  Names v;
  CHECK(Same(v.E <= CeilDivide(v.E, 32) * 32, True()));
  CHECK(Same(CeilDivide(v.E, 32) * 64 < v.E * 2 + 63, True()));
  CHECK(Same(FloorDivide(v.E, 8) * 8 <= v.E, True()));
  CHECK(Same(v.E - FloorDivide(v.E, 8) * 8 >= 8, IntConst(kBool, 0)));
  // One less is not enough.
  CHECK_FALSE(Same(v.E < CeilDivide(v.E, 32) * 32, True()));
  CHECK_FALSE(Same(CeilDivide(v.E, 32) * 32 < v.E + 31, True()));
  CHECK_FALSE(Same(v.E - FloorDivide(v.E, 8) * 8 >= 7, IntConst(kBool, 0)));
}

// The rule for a condition and its opposite gave one lane, which no expression of nine took.
TEST_CASE("what a rule decides of a mask it decides of every lane", "[ir][simplify]") {
  Var buffer = BufferVar("X", kFloat32);
  Expr lanes = Make<Load>(buffer, std::vector<Expr>{Make<Ramp>(Expr(0), Expr(1), 9)});
  Expr nan = CallOf(ScalarOp::kIsNan, {lanes});
  Expr less = lanes < lanes;
  Expr never = Make<And>(nan, Make<Not>(nan));
  CHECK(Simplify(never).dtype() == less.dtype());
  CHECK(Simplify(Make<Or>(less, never)).dtype() == less.dtype());
}
