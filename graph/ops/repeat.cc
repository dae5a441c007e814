#include "graph/ops/lowerings.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {

Status LowerExpand(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> target, node.ShapeOperand(1));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> shape, BroadcastShapes(node, {node.Shape(0), target}));
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  node.Map(out, axes, node.LoadBroadcast(0, VarsOf(axes)));
  return OkStatus();
}

Status LowerTile(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& in_shape = node.Shape(0);
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> repeats, node.Ints(1, "repeats"));
  if (repeats.size() != in_shape.size()) {
    return node.Error("has {} repeats; expected {}, one a dimension", repeats.size(),
                      in_shape.size());
  }
  std::vector<Expr> shape;
  for (size_t d = 0; d < in_shape.size(); ++d) {
    if (AsConstant(repeats[d]).value_or(0) < 0) {
      return node.Error("repeats are {}", ShapeText(repeats));
    }
    TCC_RETURN_IF_ERROR(node.TakeAsExtent(repeats[d], fmt::format("repeats of dimension {}", d)));
    shape.push_back(ProductOf(in_shape[d], repeats[d]));
    if (IsConstant(shape[d], INT64_MAX)) {
      return node.Error("{} repeats of dimension {} = {}", ShapeText({repeats[d]}), d,
                        ShapeText({in_shape[d]}));
    }
  }
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices;
  for (size_t d = 0; d < in_shape.size(); ++d) {
    bool single = AsConstant(in_shape[d]).value_or(2) <= 1;
    bool once = IsConstant(repeats[d], 1);
    Expr repeated = single ? Expr(0) : FloorModulo(axes[d].var, in_shape[d]);
    indices.push_back(once ? Expr(axes[d].var) : repeated);
  }
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

}  // namespace tcc
