#include "graph/ops/picked_index.h"

#include <algorithm>

namespace tcc {

Expr PickedIndex(NodeLowering& node, size_t input, const std::vector<Expr>& position,
                 const Expr& extent) {
  Expr index = CastTo(kInt64, node.Load(input, position));
  index = SelectOf(index < Expr(0), index + extent, index);
  if (node.Constant(input)) return index;
  return MaxOf(MinOf(index, Plus(extent, -1)), Expr(0));
}

Status CheckPicks(const NodeLowering& node, size_t input, const std::vector<Expr>& extents) {
  if (!node.Type(input).is_integer()) {
    return node.Error("indices have type {}; expected integers", ToString(node.Type(input)));
  }
  if (const Tensor* indices = node.Constant(input)) {
    TCC_ASSIGN_OR_RETURN(int64_t count, ElementCount(indices->shape));
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = ElementAsInt(*indices, i);
      std::optional<int64_t> extent = AsConstant(extents[i % extents.size()]);
      if (extent && (index < -*extent || index >= *extent)) {
        return node.Error("index {} is outside an axis of {}", index, *extent);
      }
    }
  }
  auto is_zero = [](const Expr& dim) { return AsConstant(dim) == 0; };
  const std::vector<Expr>& picks = node.Shape(input);
  bool any_pick = std::ranges::none_of(picks, is_zero);
  if (any_pick && std::ranges::any_of(extents, is_zero)) {
    return node.Error("an axis that indices pick from has extent 0");
  }
  return OkStatus();
}

}  // namespace tcc
