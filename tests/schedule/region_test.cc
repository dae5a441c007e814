#include "schedule/analysis/region.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>

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

// Returns whether sum stride * i, 0 <= i < extent, takes every integer from 0 to its largest once.
bool TakesEachOnce(const std::vector<int64_t>& strides, const std::vector<int64_t>& extents) {
  std::multiset<int64_t> sums = {0};
  for (size_t t = 0; t < strides.size(); ++t) {
    std::multiset<int64_t> longer;
    for (int64_t sum : sums) {
      for (int64_t i = 0; i < extents[t]; ++i) longer.insert(sum + strides[t] * i);
    }
    sums = std::move(longer);
  }
  int64_t next = 0;
  return std::ranges::all_of(sums, [&](int64_t sum) { return sum == next++; });
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

TEST_CASE("a binding is dense exactly if enumeration finds each of its values once",
          "[schedule][region]") {
  std::mt19937 random(1);
  auto below = [&](size_t n) { return static_cast<int64_t>(random() % n); };
  int dense = 0;
  for (int round = 0; round < 400; ++round) {
    // Strides that fit, then perhaps one that does not; terms in any order.
    size_t count = 1 + below(6);
    std::vector<int64_t> strides, extents;
    int64_t stride = 1;
    for (size_t t = 0; t < count; ++t) {
      extents.push_back(1 + below(4));
      strides.push_back(stride);
      stride *= extents.back();
    }
    if (below(2) == 0) strides[below(count)] = 1 + below(8);
    if (below(4) == 0) std::swap(extents[below(count)], extents[below(count)]);

    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<LoopPart> parts;
    Expr binding(0);
    for (size_t t : order) {
      parts.push_back(PartOf("t" + std::to_string(t), Expr(extents[t])));
      binding = binding + parts.back().var * Expr(strides[t]);
    }
    bool expected = TakesEachOnce(strides, extents);
    dense += expected;
    CHECK(IsDense(binding, parts) == expected);
  }
  CHECK(dense > 100);
  CHECK(dense < 300);
}
