#include "schedule/analysis/region.h"

#include <catch2/catch.hpp>

using namespace tcc;

namespace {

// A loop that is not fused.
LoopPart PartOf(const std::string& name, const Expr& extent) {
  return {.var = LoopVar(name), .extent = extent, .loop = 0};
}

// Adds `count` loops of extent 1 to the binding, as many networks have them.
Expr WithUnits(Expr binding, int count, std::vector<LoopPart>& parts) {
  for (int u = 0; u < count; ++u) {
    parts.push_back(PartOf("u" + std::to_string(u), Expr(1)));
    binding = binding + parts.back().var * Expr(u % 2 == 0 ? 1 : 5);
  }
  return binding;
}

}  // namespace

TEST_CASE("twenty loops of extent 1 in a binding take no time that grows with their orders",
          "[schedule][region]") {
  LoopPart i = PartOf("i", Expr(4)), j = PartOf("j", Expr(3));
  std::vector<LoopPart> parts = {i, j};
  Expr dense = WithUnits(i.var * Expr(3) + j.var, 20, parts);
  CHECK(IsDense(dense, parts));
  parts = {i, j};
  Expr with_gaps = WithUnits(i.var * Expr(4) + j.var, 20, parts);
  CHECK_FALSE(IsDense(with_gaps, parts));
  parts.clear();
  CHECK(IsDense(WithUnits(Expr(0), 20, parts), parts));
}

TEST_CASE("loops cover a binding densely where strides are the products of the extents inside",
          "[schedule][region]") {
  Var t = TileVar("t", 1, 9), s = TileVar("s", 1, 9);
  LoopPart outer = PartOf("o", CeilDivide(Expr(70), t * s)), middle = PartOf("m", s),
           inner = PartOf("i", t);
  std::vector<LoopPart> parts = {outer, middle, inner};
  CHECK(IsDense(outer.var * (t * s) + middle.var * t + inner.var, parts));
  CHECK(IsDense(inner.var + outer.var * (s * t) + middle.var * t, parts));
  CHECK_FALSE(IsDense(outer.var * (t * s) + middle.var * s + inner.var, parts));
  CHECK_FALSE(IsDense(outer.var * (t * s) + middle.var + inner.var, parts));
  CHECK_FALSE(IsDense(outer.var * t + middle.var * t + inner.var, parts));
  // A loop that the binding does not use takes no part.
  CHECK(IsDense(middle.var * t + inner.var, parts));
}
