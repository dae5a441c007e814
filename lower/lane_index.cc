#include "lower/lane_index.h"

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

Expr Sum(const Expr& a, const Expr& b) {
  if (IsConstant(a, 0)) return b;
  return IsConstant(b, 0) ? a : a + b;
}

std::optional<LaneIndex> MatchProduct(const Mul& mul) {
  std::optional<LaneIndex> a = MatchLaneIndex(mul.a);
  std::optional<LaneIndex> b = MatchLaneIndex(mul.b);
  if (!a || !b) return std::nullopt;
  if (a->stride == 0) std::swap(a, b);
  if (a->stride == 0) return LaneIndex{a->base * b->base, 0};
  std::optional<int64_t> factor = AsConstant(b->base);
  if (b->stride != 0 || !factor) return std::nullopt;
  return LaneIndex{a->base * b->base, a->stride * *factor};
}

}  // namespace

std::optional<LaneIndex> MatchLaneIndex(const Expr& index) {
  using Match = std::optional<LaneIndex>;
  return VisitExpr(index,
                   Overloaded{
                       [](const Ramp& ramp) -> Match {
                         std::optional<int64_t> stride = AsConstant(ramp.stride);
                         if (!stride) return std::nullopt;
                         return LaneIndex{ramp.base, *stride};
                       },
                       [](const Broadcast& node) -> Match { return LaneIndex{node.value, 0}; },
                       [](const Add& node) -> Match {
                         Match a = MatchLaneIndex(node.a);
                         Match b = MatchLaneIndex(node.b);
                         if (!a || !b) return std::nullopt;
                         return LaneIndex{Sum(a->base, b->base), a->stride + b->stride};
                       },
                       [](const Sub& node) -> Match {
                         Match a = MatchLaneIndex(node.a);
                         Match b = MatchLaneIndex(node.b);
                         if (!a || !b) return std::nullopt;
                         return LaneIndex{a->base - b->base, a->stride - b->stride};
                       },
                       [](const Mul& node) -> Match { return MatchProduct(node); },
                       [](const auto&) -> Match { return std::nullopt; },
                   });
}

}  // namespace tcc
