#include <algorithm>

#include "graph/ops/lowerings.h"
#include "ir/expr/compare.h"

namespace tcc {

Status LowerTranspose(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  size_t rank = node.Rank(0);
  std::vector<int64_t> reversed;
  for (size_t d = rank; d > 0; --d) reversed.push_back(static_cast<int64_t>(d) - 1);
  std::vector<int64_t> perm = node.node().Ints("perm", reversed);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted != reversed) {
    return node.Error("perm is {}; expected a permutation of {} axes", ShapeToString(perm), rank);
  }

  std::vector<Expr> shape;
  for (int64_t dim : perm) shape.push_back(node.Shape(0)[dim]);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices(rank, Expr(0));
  for (size_t d = 0; d < rank; ++d) indices[perm[d]] = axes[d].var;
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

// A stage an operand, which writes its slice of the output: no select in any of them.
Status LowerConcat(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, SIZE_MAX));
  TCC_RETURN_IF_ERROR(node.CheckSameTypes());
  size_t rank = node.Rank(0);
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", 0), rank));
  std::vector<Expr> shape = node.Shape(0);
  Expr total = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.Has(i)) return node.Error("input {} is missing", i);
    bool fits = node.Rank(i) == rank;
    for (size_t d = 0; fits && d < rank; ++d) {
      fits = static_cast<int>(d) == axis || SameExtent(node.Shape(i)[d], shape[d]);
    }
    if (!fits) {
      return node.Error("input {} has shape {}; expected that of input 0, {}, but for axis {}", i,
                        ShapeText(node.Shape(i)), ShapeText(node.Shape(0)), axis);
    }
    std::optional<int64_t> known = AsConstant(node.Shape(i)[axis]);
    total = known ? Plus(total, *known) : total + node.Shape(i)[axis];
  }

  shape[axis] = total;
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  Expr offset = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Expr& extent = node.Shape(i)[axis];
    if (IsConstant(extent, 0)) continue;
    std::vector<Axis> axes = node.Axes(node.Shape(i));
    std::vector<Expr> indices = VarsOf(axes);
    std::optional<int64_t> known = AsConstant(offset);
    indices[axis] = known ? Plus(indices[axis], *known) : indices[axis] + offset;
    node.MapAt(out, axes, indices, node.Load(i, VarsOf(axes)),
               node.input_count() == 1 ? "" : fmt::format("_{}", i));
    std::optional<int64_t> step = AsConstant(extent);
    offset = step ? Plus(offset, *step) : offset + extent;
  }
  return OkStatus();
}

namespace {

// One dimension of a Slice after ONNX's clamping: `count` elements from `start` in steps.
struct DimSlice {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

DimSlice ClampedSlice(int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (start < 0) start += extent;  // INT64_MIN + extent does not overflow: extent >= 0
  if (end < 0) end += extent;
  int64_t count = 0;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    if (end > start) count = (end - start - 1) / step + 1;
  } else {
    start = std::clamp<int64_t>(start, 0, std::max<int64_t>(extent - 1, 0));
    end = std::clamp<int64_t>(end, -1, extent - 1);
    // -step overflows for INT64_MIN, where one step leaves any tensor.
    int64_t stride = step == INT64_MIN ? INT64_MAX : -step;
    if (extent > 0 && start > end) count = (start - end - 1) / stride + 1;
  }
  return {.start = start, .step = step, .count = count};
}

StatusOr<std::vector<DimSlice>> SlicesOf(const NodeLowering& node) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.StaticShape(0));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> starts, node.ConstantInts(1, "starts"));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> ends, node.ConstantInts(2, "ends"));
  std::vector<int64_t> axes;
  for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  std::vector<int64_t> steps(starts.size(), 1);
  if (node.Has(3)) {
    TCC_ASSIGN_OR_RETURN(axes, node.ConstantInts(3, "axes"));
  }
  if (node.Has(4)) {
    TCC_ASSIGN_OR_RETURN(steps, node.ConstantInts(4, "steps"));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return node.Error("has {} starts, {} ends, {} axes, {} steps; expected as many of each",
                      starts.size(), ends.size(), axes.size(), steps.size());
  }
  std::vector<DimSlice> slices;
  for (int64_t extent : shape) slices.push_back({.start = 0, .step = 1, .count = extent});
  for (size_t i = 0; i < starts.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(int dim, node.NormalizedAxis(axes[i], shape.size()));
    if (steps[i] == 0) return node.Error("the step of axis {} is 0", axes[i]);
    slices[dim] = ClampedSlice(shape[dim], starts[i], ends[i], steps[i]);
  }
  return slices;
}

}  // namespace

Status LowerSlice(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(3, 5));
  TCC_ASSIGN_OR_RETURN(std::vector<DimSlice> slices, SlicesOf(node));
  std::vector<Expr> shape;
  for (const DimSlice& slice : slices) shape.push_back(Expr(slice.count));
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices;
  for (size_t d = 0; d < slices.size(); ++d) {
    bool single = slices[d].count <= 1;
    Expr moved = single ? Expr(0) : Times(axes[d].var, slices[d].step);
    indices.push_back(Plus(moved, slices[d].start));
  }
  node.Map(out, axes, node.Load(0, indices));
  return OkStatus();
}

Status LowerRepack(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const std::vector<Expr>& shape = node.Shape(0);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  node.Map(out, axes, node.Load(0, VarsOf(axes)));
  return OkStatus();
}

}  // namespace tcc
