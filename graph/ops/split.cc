#include "graph/ops/lowerings.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {
namespace {

// Returns the ends of equal parts of a dimension. The number of outputs divides it, as ONNX has it,
// or, with num_outputs, the last parts are smaller; extents that are known are cut in either way.
StatusOr<std::vector<Expr>> EqualParts(NodeLowering& node, const Expr& extent) {
  auto outputs = static_cast<int64_t>(node.node().outputs.size());
  int64_t count = node.node().Int("num_outputs", outputs);
  if (count != outputs) return node.Error("num_outputs is {}; it has {} outputs", count, outputs);
  bool divides = !AsConstant(extent) && !node.node().attributes.contains("num_outputs");
  Expr part = divides ? QuotientOf(extent, Expr(count)) : CeilQuotientOf(extent, Expr(count));
  if (divides) {
    std::string what = fmt::format("a dimension and its {} equal parts", count);
    TCC_RETURN_IF_ERROR(node.Agree(extent, ProductOf(part, Expr(count)), what));
    return std::vector<Expr>(count, part);
  }
  std::vector<Expr> parts = {part};
  Expr end = part;
  for (int64_t i = 2; i <= count; ++i) {
    Expr next = i == count ? extent : SmallerOf(ProductOf(part, Expr(i)), extent);
    parts.push_back(DifferenceOf(next, end));
    end = next;
  }
  return parts;
}

// Returns the parts that input 1 lists, which together are the dimension.
StatusOr<std::vector<Expr>> ListedParts(NodeLowering& node, const Expr& extent) {
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> parts, node.Ints(1, "split"));
  Expr total = 0;
  bool fits = parts.size() == node.node().outputs.size();
  for (size_t i = 0; fits && i < parts.size(); ++i) {
    total = SumOf(total, parts[i]);
    fits = AsConstant(parts[i]).value_or(0) >= 0 &&
           node.TakeAsExtent(parts[i], fmt::format("part {}", i)).ok();
  }
  if (!fits || !node.Agree(total, extent, "all parts and the dimension").ok()) {
    return node.Error("parts {} of a dimension of {} for {} outputs", ShapeText(parts),
                      ShapeText({extent}), node.node().outputs.size());
  }
  return parts;
}

}  // namespace

// A stage an output, which reads its slice.
Status LowerSplit(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", 0), node.Rank(0)));
  std::vector<Expr> shape = node.Shape(0);
  const Expr extent = shape[axis];
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> parts,
                       node.Has(1) ? ListedParts(node, extent) : EqualParts(node, extent));
  Expr offset = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (node.Wants(i)) {
      shape[axis] = parts[i];
      StoredBuffer out = node.Output(i, node.Type(0), shape);
      std::vector<Axis> axes = node.Axes(shape);
      std::vector<Expr> indices = VarsOf(axes);
      indices[axis] = Plus(indices[axis], offset);
      node.Map(out, axes, node.Load(0, indices), parts.size() == 1 ? "" : fmt::format("_{}", i));
    }
    offset = SumOf(offset, parts[i]);
  }
  return OkStatus();
}

}  // namespace tcc
