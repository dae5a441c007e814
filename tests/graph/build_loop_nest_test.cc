#include "graph/ops/build_loop_nest.h"

#include <catch2/catch.hpp>

#include "ir/expr/combiner.h"

namespace tcc {
namespace {

// The function of y[0] = the sum over `extent` elements of x.
Function SumOver(const Expr& extent, const std::vector<Var>& shapes,
                 const std::vector<Expr>& strides = {}) {
  Buffer x, y;
  x.var = BufferVar("x", kFloat32);
  x.shape = {extent};
  x.layout.strides = strides;
  y.var = BufferVar("y", kFloat32);
  y.shape = {Expr(1)};
  Var i = IterationVar("i"), t = IterationVar("t");
  ComputeExpr sum{.name = "sum",
                  .axes = {{i, Expr(1)}},
                  .reduce_axes = {{t, extent}},
                  .combiner = SumCombiner(kFloat32),
                  .outputs = {y},
                  .indices = {{i}},
                  .values = {Make<Load>(x.var, std::vector<Expr>{t})}};
  return BuildLoopNest({.name = "f",
                        .inputs = {x},
                        .outputs = {y},
                        .intermediates = {},
                        .shape_vars = shapes,
                        .stages = {sum}});
}

}  // namespace

TEST_CASE("a reduction has a block for its start only where it may be empty", "[graph][ops]") {
  Var p = ShapeVar("P", 0, 64), s = ShapeVar("S", 1, 64);
  for (const Expr& extent :
       {Expr(3), Expr(s), Expr(p) + Expr(s), Expr(s) * Expr(s), MaxOf(p, Expr(1))}) {
    CHECK(BlocksOf(SumOver(extent, {p, s}).body).size() == 1);
  }
  for (const Expr& extent : {Expr(0), Expr(p), Expr(p) * Expr(s), Expr(s) - Expr(1)}) {
    CHECK(BlocksOf(SumOver(extent, {p, s}).body).size() == 2);
  }
}

TEST_CASE("a function has the shapes that it uses, in extents or in strides", "[graph][ops]") {
  Var n = ShapeVar("N", 1, 64), c = ShapeVar("C", 1, 64);
  CHECK(SumOver(n, {n, c}).vars == std::vector<Var>{n});
  CHECK(SumOver(n, {n, c}, {c}).vars == std::vector<Var>{n, c});
}

}  // namespace tcc
