#include "graph/ops/reduction_axes.h"

namespace tcc {

ReductionAxes AxesFor(const NodeLowering& node, const std::vector<bool>& reduced,
                      ReducedDims dims) {
  ReductionAxes result;
  std::vector<Axis> names = node.Axes(node.Shape(0));
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) {
      result.axes.push_back(names[d]);
      result.input_index.push_back(names[d].var);
      continue;
    }
    Axis axis = NodeLowering::MakeAxis(fmt::format("r{}", names[d].var->name), names[d].extent);
    result.reduce_axes.push_back(axis);
    result.input_index.push_back(axis.var);
    if (dims == ReducedDims::kKept) {
      result.axes.push_back(NodeLowering::MakeAxis(names[d].var->name, Expr(1)));
    }
  }
  return result;
}

std::vector<bool> OnlyAxis(size_t rank, int axis) {
  std::vector<bool> reduced(rank, false);
  reduced[axis] = true;
  return reduced;
}

Expr CountAs(DType type, const std::vector<Expr>& shape) {
  Expr count = Product(shape);
  std::optional<int64_t> known = AsConstant(count);
  return known ? Const(type, static_cast<double>(*known)) : CastTo(type, count);
}

std::vector<Expr> RowOfElement(std::vector<Expr> indices, const std::vector<bool>& reduced) {
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) indices[d] = Expr(0);
  }
  return indices;
}

}  // namespace tcc
