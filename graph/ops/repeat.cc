#include <algorithm>

#include "graph/ops/lowerings.h"

namespace tcc {

Status LowerExpand(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> target, node.ConstantInts(1, "shape"));
  if (std::ranges::any_of(target, [](int64_t dim) { return dim < 0; })) {
    return node.Error("shape is {}; expected dimensions of at least 0", ShapeToString(target));
  }
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> shape,
                       BroadcastShapes(node, {node.Shape(0), ToExprs(target)}));
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  node.Map(out, axes, node.LoadBroadcast(0, VarsOf(axes)));
  return OkStatus();
}

Status LowerTile(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> in_shape, node.StaticShape(0));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> repeats, node.ConstantInts(1, "repeats"));
  if (repeats.size() != in_shape.size()) {
    return node.Error("has {} repeats; expected {}, one a dimension", repeats.size(),
                      in_shape.size());
  }
  std::vector<int64_t> out_shape(in_shape.size());
  for (size_t d = 0; d < in_shape.size(); ++d) {
    if (repeats[d] < 0) return node.Error("repeats are {}", ShapeToString(repeats));
    if (__builtin_mul_overflow(in_shape[d], repeats[d], &out_shape[d])) {
      return node.Error("{} repeats of dimension {} = {}", repeats[d], d, in_shape[d]);
    }
  }
  std::vector<Expr> shape = ToExprs(out_shape);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices;
  for (size_t d = 0; d < in_shape.size(); ++d) {
    Expr var = axes[d].var;
    if (repeats[d] != 1) var = in_shape[d] <= 1 ? Expr(0) : FloorModulo(var, Expr(in_shape[d]));
    indices.push_back(var);
  }
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

}  // namespace tcc
