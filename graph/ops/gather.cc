#include <algorithm>

#include "graph/ops/lowerings.h"
#include "graph/ops/picked_index.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {

Status LowerGather(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", 0), node.Rank(0)));
  const std::vector<Expr>& data = node.Shape(0);
  const std::vector<Expr>& picks = node.Shape(1);
  std::vector<Expr> shape(data.begin(), data.begin() + axis);
  shape.insert(shape.end(), picks.begin(), picks.end());
  shape.insert(shape.end(), data.begin() + axis + 1, data.end());
  auto is_zero = [](const Expr& dim) { return AsConstant(dim) == 0; };
  bool any_result = std::ranges::none_of(shape, is_zero);
  if (any_result || !is_zero(data[axis])) {
    TCC_RETURN_IF_ERROR(CheckPicks(node, 1, {data[axis]}));
  }

  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> vars = VarsOf(axes);
  auto picked = vars.begin() + axis;
  std::vector<Expr> indices(vars.begin(), picked);
  indices.push_back(PickedIndex(node, 1, {picked, picked + picks.size()}, data[axis]));
  indices.insert(indices.end(), picked + picks.size(), vars.end());
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

// out[i, j, k] = data[i, indices[i, j, k], k] for axis 1.
Status LowerGatherElements(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& data = node.Shape(0);
  const std::vector<Expr>& shape = node.Shape(1);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", 0), data.size()));
  bool fits = shape.size() == data.size();
  for (size_t d = 0; fits && d < data.size(); ++d) {
    if (static_cast<int>(d) == axis) continue;
    std::string what = fmt::format("dimensions {} of indices and data", d);
    fits = node.Agree(shape[d], SmallerOf(shape[d], data[d]), what).ok();
  }
  if (!fits) {
    return node.Error("indices have shape {}; expected at most {} but for axis {}",
                      ShapeText(shape), ShapeText(data), axis);
  }
  TCC_RETURN_IF_ERROR(CheckPicks(node, 1, {data[axis]}));

  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices = VarsOf(axes);
  indices[axis] = PickedIndex(node, 1, VarsOf(axes), data[axis]);
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

// out[b, q, s] = data[b, indices[b, q, 0], ..., indices[b, q, n - 1], s], with batch_dims
// dimensions b.
Status LowerGatherND(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& data = node.Shape(0);
  const std::vector<Expr>& picks = node.Shape(1);
  int64_t batch = node.node().Int("batch_dims", 0);
  int64_t depth = picks.empty() ? 0 : AsConstant(picks.back()).value_or(0);
  auto data_rank = static_cast<int64_t>(data.size());
  bool fits = batch >= 0 && batch < static_cast<int64_t>(picks.size()) && batch < data_rank &&
              depth >= 1 && depth <= data_rank - batch;
  for (int64_t d = 0; fits && d < batch; ++d) {
    fits = node.Agree(data[d], picks[d], fmt::format("batch dimensions {}", d)).ok();
  }
  if (!fits) {
    return node.Error("data of shape {} with indices of shape {} and batch_dims {}",
                      ShapeText(data), ShapeText(picks), batch);
  }
  TCC_RETURN_IF_ERROR(CheckPicks(node, 1, {data.begin() + batch, data.begin() + batch + depth}));

  std::vector<Expr> shape(picks.begin(), picks.end() - 1);
  shape.insert(shape.end(), data.begin() + batch + depth, data.end());
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> vars = VarsOf(axes);
  std::vector<Expr> position(vars.begin(), vars.begin() + picks.size() - 1);
  position.emplace_back(0);
  std::vector<Expr> indices(vars.begin(), vars.begin() + batch);
  for (int64_t i = 0; i < depth; ++i) {
    position.back() = Expr(i);
    indices.push_back(PickedIndex(node, 1, position, data[batch + i]));
  }
  indices.insert(indices.end(), vars.begin() + picks.size() - 1, vars.end());
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

}  // namespace tcc
