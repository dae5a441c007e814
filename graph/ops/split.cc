#include <algorithm>

#include "graph/ops/lowerings.h"

namespace tcc {
namespace {

// The extents of the parts of a dimension of `extent`.
StatusOr<std::vector<int64_t>> PartsOf(const NodeLowering& node, int64_t extent) {
  auto outputs = static_cast<int64_t>(node.node().outputs.size());
  std::vector<int64_t> parts;
  if (node.Has(1)) {
    TCC_ASSIGN_OR_RETURN(parts, node.ConstantInts(1, "split"));
  } else {
    int64_t count = node.node().Int("num_outputs", outputs);
    if (count != outputs) return node.Error("num_outputs is {}; it has {} outputs", count, outputs);
    // Equal parts but for the last, which may be smaller.
    int64_t part = extent / count + (extent % count != 0);
    for (int64_t i = 0, rest = extent; i < count; ++i, rest -= parts.back()) {
      parts.push_back(std::min(part, rest));
    }
  }
  int64_t rest = extent;
  for (int64_t part : parts) {
    if (part < 0 || part > rest) break;
    rest -= part;
  }
  if (rest != 0 || static_cast<int64_t>(parts.size()) != outputs) {
    return node.Error("parts {} of a dimension of {} for {} outputs", ShapeToString(parts), extent,
                      outputs);
  }
  return parts;
}

}  // namespace

// A stage an output, which reads its slice.
Status LowerSplit(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  TCC_ASSIGN_OR_RETURN(int axis, node.NormalizedAxis(node.node().Int("axis", 0), node.Rank(0)));
  std::vector<Expr> shape = node.Shape(0);
  std::optional<int64_t> extent = AsConstant(shape[axis]);
  if (!extent) {
    return node.NotSupported("input 0 has shape {}; expected a known dimension {}",
                             ShapeText(shape), axis);
  }
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> parts, PartsOf(node, *extent));
  int64_t offset = 0;
  for (size_t i = 0; i < parts.size(); offset += parts[i++]) {
    if (!node.Wants(i)) continue;
    shape[axis] = Expr(parts[i]);
    StoredBuffer out = node.Output(i, node.Type(0), shape);
    std::vector<Axis> axes = node.Axes(shape);
    std::vector<Expr> indices = VarsOf(axes);
    indices[axis] = Plus(indices[axis], offset);
    node.Map(out, axes, node.Load(0, indices), parts.size() == 1 ? "" : fmt::format("_{}", i));
  }
  return OkStatus();
}

}  // namespace tcc
