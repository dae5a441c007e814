#include <catch2/catch.hpp>
#include <cmath>

#include "ir/analysis/affine.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

// Towers of expressions in which each level holds the one below twice. A walk that follows every
// path does not end in a lifetime.
using namespace tcc;

namespace {

constexpr int kLevels = 60;

// (x * x + x) mod 1000, that squared and so on: no level is a polynomial of the one at its foot.
Expr RemainderTower(const Expr& foot) {
  Expr tower = foot;
  for (int level = 0; level < kLevels; ++level) {
    tower = FloorModulo(tower * tower + tower, Expr(1000 + level));
  }
  return tower;
}

Expr SumTower(const Expr& foot) {
  Expr tower = foot;
  for (int level = 0; level < kLevels; ++level) tower = Make<Add>(tower, tower);
  return tower;
}

}  // namespace

TEST_CASE("two towers that were built apart are compared pair of nodes by pair of nodes",
          "[ir][simplify]") {
  Var x = ShapeVar("x", 1, 1000), y = ShapeVar("y", 1, 1000);
  CHECK(IsConstant(Simplify(RemainderTower(x) - RemainderTower(x)), 0));
  CHECK_FALSE(IsConstant(Simplify(RemainderTower(x) - RemainderTower(y)), 0));
}

TEST_CASE("a tower of sums is read as an affine form level by level", "[ir][affine]") {
  Var i = LoopVar("i");
  std::optional<AffineForm> form = ToAffine(SumTower(i), {i});
  REQUIRE(form);
  REQUIRE(form->vars == std::vector<Var>{i});
  CHECK(AsConstant(Simplify(form->coefficients[0])) == int64_t{1} << kLevels);
  CHECK(BoxOf(SumTower(i), {i}, {Expr(0)}, {Expr(1)}).has_value());
  // A product of variables at the foot is no affine form, on whatever path it is found.
  CHECK_FALSE(ToAffine(SumTower(Make<Mul>(i, i)), {i}));
}

TEST_CASE("a tower is evaluated level by level", "[ir][evaluate]") {
  Var x = ShapeVar("x", 1, 1000);
  int64_t expected = 7;
  for (int level = 0; level < kLevels; ++level) {
    expected = (expected * expected + expected) % (1000 + level);
  }
  CHECK(EvaluateInt(RemainderTower(x), {{x, 7}}) == expected);
  CHECK_FALSE(EvaluateInt(RemainderTower(x), {}));
}

TEST_CASE("a conjunction that holds one below it twice gives the terms of that once",
          "[ir][visitor]") {
  Var x = ShapeVar("x", 1, 1000);
  Expr tower = x < 999;
  for (int level = 0; level < kLevels; ++level) {
    tower = Make<And>(Make<And>(tower, x < level), Make<And>(tower, x <= level));
  }
  std::vector<Expr> terms = ConjunctsOf(tower);
  REQUIRE(terms.size() == 2 * kLevels + 1);
  CHECK(Equal(terms.front(), x < 999));
  CHECK(Equal(terms.back(), x <= kLevels - 1));
}

TEST_CASE("the written size counts a shared node at every use", "[ir][visitor]") {
  Var x = ShapeVar("x", 1, 1000);
  CHECK(WrittenSize(x) == 1);
  CHECK(WrittenSize((x + 1) * (x + 1)) == 7);
  CHECK(WrittenSize(SumTower(x)) == std::ldexp(1, kLevels + 1) - 1);
}
