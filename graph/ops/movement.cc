#include <algorithm>

#include "graph/ops/lowerings.h"
#include "ir/expr/compare.h"
#include "ir/simplify/size_arithmetic.h"
#include "support/extents.h"

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
    const std::vector<Expr>& own = node.Shape(i);
    bool fits = own.size() == rank;
    for (size_t d = 0; fits && d < rank; ++d) {
      if (static_cast<int>(d) == axis) continue;
      std::string what = fmt::format("dimensions {} of inputs 0 and {}", d, i);
      fits = node.Agree(shape[d], own[d], what).ok();
      if (AsConstant(own[d])) shape[d] = own[d];
    }
    if (!fits) {
      return node.Error("input {} has shape {}; expected that of input 0, {}, but for axis {}", i,
                        ShapeText(own), ShapeText(node.Shape(0)), axis);
    }
    total = SumOf(total, own[axis]);
  }

  shape[axis] = total;
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  Expr offset = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Expr& extent = node.Shape(i)[axis];
    if (IsConstant(extent, 0)) continue;
    std::vector<Axis> axes = node.Axes(node.Shape(i));
    std::vector<Expr> indices = VarsOf(axes);
    indices[axis] = Plus(indices[axis], offset);
    node.MapAt(out, axes, indices, node.Load(i, VarsOf(axes)),
               node.input_count() == 1 ? "" : fmt::format("_{}", i));
    offset = SumOf(offset, extent);
  }
  return OkStatus();
}

namespace {

// One dimension of a Slice after ONNX's clamping: `count` elements from `start` in steps.
struct DimSlice {
  Expr start;
  int64_t step = 1;
  Expr count;
};

// Returns the place on an axis of `extent` that a position names, which counts from the end where
// it is negative, clamped to low..high.
Expr PlaceOf(const Expr& position, const Expr& extent, const Expr& low, const Expr& high) {
  // Such numbers are outside any axis; a sum with one might overflow.
  std::optional<int64_t> number = AsConstant(position);
  if (number && *number > kMaxExtent) return high;
  if (number && *number < -kMaxExtent) return low;
  Expr place = ChosenOf(position < Expr(0), SumOf(position, extent), position);
  if (AlwaysHolds(place <= high)) return LargerOf(place, low);
  return SmallerOf(LargerOf(place, low), high);
}

// Returns a - b with minima and maxima outside: min(5, S) has closer bounds than
// S - max(S - 5, 0).
Expr Distance(const Expr& a, const Expr& b) {
  if (const auto* min = a.as<Min>()) return SmallerOf(Distance(min->a, b), Distance(min->b, b));
  if (const auto* max = a.as<Max>()) return LargerOf(Distance(max->a, b), Distance(max->b, b));
  if (const auto* min = b.as<Min>()) return LargerOf(Distance(a, min->a), Distance(a, min->b));
  if (const auto* max = b.as<Max>()) return SmallerOf(Distance(a, max->a), Distance(a, max->b));
  return DifferenceOf(a, b);
}

DimSlice ClampedSlice(const Expr& extent, const Expr& from, const Expr& to, int64_t step) {
  bool forward = step > 0;
  Expr last = SumOf(extent, Expr(-1));
  Expr first = forward ? Expr(0) : LargerOf(last, Expr(0));
  Expr end = forward ? extent : Expr(-1);
  // One step of more than any axis leaves it, as a longer one does.
  int64_t stride = std::clamp(step, -kMaxExtent, kMaxExtent);
  Expr start =
      forward ? PlaceOf(from, extent, Expr(0), extent) : PlaceOf(from, extent, Expr(0), first);
  Expr stop = forward ? PlaceOf(to, extent, Expr(0), extent) : PlaceOf(to, extent, Expr(-1), last);
  Expr length = forward ? Distance(stop, start) : Distance(start, stop);
  bool in_order = Equal(start, first) || Equal(stop, end);
  if (!in_order) length = LargerOf(length, Expr(0));
  Expr count = CeilQuotientOf(length, Expr(std::abs(stride)));
  // Backwards on an axis of 0, the first place is 0 and the stop before it.
  if (!forward) count = SmallerOf(count, extent);
  return {.start = start, .step = stride, .count = count};
}

StatusOr<std::vector<DimSlice>> SlicesOf(const NodeLowering& node) {
  const std::vector<Expr>& shape = node.Shape(0);
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> starts, node.Ints(1, "starts"));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> ends, node.Ints(2, "ends"));
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
  for (const Expr& extent : shape) slices.push_back({.start = 0, .step = 1, .count = extent});
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
  for (const DimSlice& slice : slices) shape.push_back(slice.count);
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> indices;
  for (size_t d = 0; d < slices.size(); ++d) {
    bool single = AsConstant(slices[d].count).value_or(INT64_MAX) <= 1;
    const Expr& start = slices[d].start;
    indices.push_back(single ? start : Plus(Times(axes[d].var, slices[d].step), start));
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

// The first sequence_lens[b] elements of each sequence backwards, the rest as they are.
Status LowerReverseSequence(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  const std::vector<Expr>& shape = node.Shape(0);
  int64_t batch = node.node().Int("batch_axis", 1);
  int64_t time = node.node().Int("time_axis", 0);
  bool fits = shape.size() >= 2 && batch + time == 1 && (batch == 0 || batch == 1) &&
              node.Rank(1) == 1 && node.Type(1) == kInt64 &&
              node.Agree(node.Shape(1)[0], shape[batch], "numbers of lengths and sequences").ok();
  if (!fits) {
    return node.Error("{}, lengths of shape {}, batch_axis {} and time_axis {}", node.InputText(0),
                      ShapeText(node.Shape(1)), batch, time);
  }
  StoredBuffer out = node.Output(0, node.Type(0), shape);
  std::vector<Axis> axes = node.Axes(shape);
  std::vector<Expr> place = VarsOf(axes);
  // A length beyond the end is one to the end.
  Expr length = MinOf(node.Load(1, {place[batch]}), shape[time]);
  Expr step = place[time];
  place[time] = SelectOf(step < length, length - Expr(1) - step, step);
  node.Map(out, axes, node.Load(0, place));
  return OkStatus();
}

}  // namespace tcc
