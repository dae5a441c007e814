#include <algorithm>

#include "graph/ops/lowerings.h"
#include "graph/ops/picked_index.h"

// Scatters are a copy of the data and then the updates in their order, so that of several updates
// of one cell the last one stays, or all of them are merged one after the other.
namespace tcc {
namespace {

// `held` with `update` merged into it.
StatusOr<Expr> Merged(const NodeLowering& node, const Expr& held, const Expr& update) {
  std::string reduction = node.node().String("reduction", "none");
  if (reduction == "none") return update;
  if (reduction == "max") return MaxOf(held, update);
  if (reduction == "min") return MinOf(held, update);
  if (reduction != "add" && reduction != "mul") {
    return node.Error("reduction is '{}'; expected none, add, mul, max or min", reduction);
  }
  bool add = reduction == "add";
  if (held.dtype().is_bool()) return add ? EitherOf(held, update) : BothOf(held, update);
  return add ? held + update : held * update;
}

StatusOr<StoredBuffer> CopyOfData(NodeLowering& node) {
  if (node.Type(2) != node.Type(0)) {
    return node.Error("updates have type {}; expected {} as the data", ToString(node.Type(2)),
                      ToString(node.Type(0)));
  }
  const std::vector<Expr>& shape = node.Shape(0);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  node.Map(out, axes, node.Load(0, VarsOf(axes)), "_data");
  return out;
}

Status StoreUpdates(NodeLowering& node, const StoredBuffer& out, const std::vector<Axis>& axes,
                    const std::vector<IterKind>& kinds, const std::vector<Expr>& indices) {
  Expr held = node.Load(out, indices);
  TCC_ASSIGN_OR_RETURN(Expr value, Merged(node, held, node.Load(2, VarsOf(axes))));
  node.StoreInOrder(
      {.output = out, .axes = axes, .kinds = kinds, .indices = indices, .value = value});
  return OkStatus();
}

}  // namespace

// out[i, indices[i, j, k], k] = updates[i, j, k] for axis 1.
Status LowerScatterElements(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  const std::vector<Expr>& data = node.Shape(0);
  const std::vector<Expr>& shape = node.Shape(1);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", 0), data.size()));
  bool fits = shape.size() == data.size() && node.Rank(2) == data.size();
  for (size_t d = 0; fits && d < data.size(); ++d) {
    fits = node.Agree(shape[d], node.Shape(2)[d], "dimensions of indices and updates").ok() &&
           (static_cast<int>(d) == axis ||
            node.AgreeAtMost(shape[d], data[d], "dimensions of indices and data").ok());
  }
  if (!fits) {
    return node.Error("data of shape {}, indices of {} and updates of {} with axis {}",
                      ShapeText(data), ShapeText(shape), ShapeText(node.Shape(2)), axis);
  }
  TCC_RETURN_IF_ERROR(CheckPicks(node, 1, {data[axis]}));
  TCC_ASSIGN_OR_RETURN(StoredBuffer out, CopyOfData(node));
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<IterKind> kinds(axes.size(), IterKind::kSpatial);
  kinds[axis] = IterKind::kReduce;
  std::vector<Expr> indices = VarsOf(axes);
  indices[axis] = PickedIndex(node, 1, VarsOf(axes), data[axis]);
  return StoreUpdates(node, out, axes, kinds, indices);
}

// out[indices[q, 0], ..., indices[q, n - 1], s] = updates[q, s].
Status LowerScatterND(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 3));
  const std::vector<Expr>& data = node.Shape(0);
  const std::vector<Expr>& picks = node.Shape(1);
  const std::vector<Expr>& updates = node.Shape(2);
  int64_t depth = picks.empty() ? 0 : AsConstant(picks.back()).value_or(0);
  bool fits = depth >= 1 && depth <= static_cast<int64_t>(data.size());
  std::vector<Expr> expected;
  if (fits) {
    expected.assign(picks.begin(), picks.end() - 1);
    expected.insert(expected.end(), data.begin() + depth, data.end());
    fits = updates.size() == expected.size();
  }
  for (size_t d = 0; fits && d < updates.size(); ++d) {
    fits =
        node.Agree(updates[d], expected[d], "dimensions of updates and of what they replace").ok();
  }
  if (!fits) {
    return node.Error("data of shape {}, indices of {} and updates of {}", ShapeText(data),
                      ShapeText(picks), ShapeText(updates));
  }
  TCC_RETURN_IF_ERROR(CheckPicks(node, 1, {data.begin(), data.begin() + depth}));
  TCC_ASSIGN_OR_RETURN(StoredBuffer out, CopyOfData(node));

  size_t places = picks.size() - 1;
  std::vector<Axis> axes = node.Axes(updates);
  std::vector<IterKind> kinds(axes.size(), IterKind::kSpatial);
  std::fill(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(places), IterKind::kReduce);
  std::vector<Expr> vars = VarsOf(axes);
  std::vector<Expr> position(vars.begin(), vars.begin() + places);
  position.emplace_back(0);
  std::vector<Expr> indices;
  for (int64_t i = 0; i < depth; ++i) {
    position.back() = Expr(i);
    indices.push_back(PickedIndex(node, 1, position, data[i]));
  }
  indices.insert(indices.end(), vars.begin() + places, vars.end());
  return StoreUpdates(node, out, axes, kinds, indices);
}

}  // namespace tcc
