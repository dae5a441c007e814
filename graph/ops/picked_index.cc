#include "graph/ops/picked_index.h"

#include <algorithm>

#include "ir/simplify/size_arithmetic.h"
#include "support/extents.h"

namespace tcc {

namespace {

// Returns where the one index of an input is that is a formula; nullopt for any other input.
std::optional<Expr> FormulaPlace(const NodeLowering& node, size_t input, const Expr& extent) {
  if (node.Elements(input).size() != 1) return std::nullopt;
  const Expr& index = node.Elements(input)[0];
  return ChosenOf(index < Expr(0), SumOf(index, extent), index);
}

}  // namespace

Expr PickedIndex(NodeLowering& node, size_t input, const std::vector<Expr>& position,
                 const Expr& extent) {
  if (std::optional<Expr> place = FormulaPlace(node, input, extent)) return *place;
  Expr index = CastTo(kInt64, node.Load(input, position));
  index = SelectOf(index < Expr(0), index + extent, index);
  if (node.Constant(input)) return index;
  return MaxOf(MinOf(index, Plus(extent, -1)), Expr(0));
}

Status CheckPicks(NodeLowering& node, size_t input, const std::vector<Expr>& extents) {
  if (!node.Type(input).is_integer()) {
    return node.Error("indices have type {}; expected integers", ToString(node.Type(input)));
  }
  if (const Tensor* indices = node.Constant(input)) {
    TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(indices->shape));
    // The least extents that hold the indices into axes of free extent.
    std::vector<int64_t> least(extents.size(), 0);
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = ElementAsInt(*indices, i);
      size_t axis = i % extents.size();
      std::optional<int64_t> extent = AsConstant(extents[axis]);
      if (extent && (index < -*extent || index >= *extent)) {
        return node.Error("index {} is outside an axis of {}", index, *extent);
      }
      if (extent) continue;
      if (index < -kMaxExtent || index >= kMaxExtent) {
        return node.Error("index {} is outside any axis", index);
      }
      least[axis] = std::max(least[axis], index < 0 ? -index : index + 1);
    }
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (AlwaysHolds(extents[axis] >= Expr(least[axis]))) continue;
      Expr held = LargerOf(extents[axis], Expr(least[axis]));
      TCC_RETURN_IF_ERROR(node.Agree(extents[axis], held, "an axis and the least for its indices"));
    }
  }
  for (const Expr& extent : extents) {
    std::optional<Expr> place = FormulaPlace(node, input, extent);
    if (!place) break;
    Expr inside = SmallerOf(LargerOf(*place, Expr(0)), SumOf(extent, Expr(-1)));
    TCC_RETURN_IF_ERROR(node.Agree(*place, inside, "an index and the nearest place of its axis"));
  }
  if (node.Constant(input)) return OkStatus();
  for (const Expr& extent : extents) {
    TCC_RETURN_IF_ERROR(node.AgreeOnPlaces(extent, Product(node.Shape(input))));
  }
  return OkStatus();
}

}  // namespace tcc
