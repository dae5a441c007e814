#include <algorithm>

#include "graph/ops/lowerings.h"

namespace tcc {

// The dimensions as a vector; those that are known end up as constants.
Status LowerShape(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  const std::vector<Expr>& dims = node.Shape(0);
  int64_t rank = static_cast<int64_t>(dims.size());
  auto clamped = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  int64_t begin = clamped(node.node().Int("start", 0));
  int64_t end = std::max(begin, clamped(node.node().Int("end", rank)));

  std::vector<Expr> shape = {Expr(end - begin)};
  StoredBuffer out = node.Output(0, kInt64, shape);
  std::vector<Axis> axes = node.Axes(shape);
  Expr value = end > begin ? dims[end - 1] : Expr(0);
  for (int64_t d = end - 2; d >= begin; --d) {
    value = SelectOf(Make<Eq>(axes[0].var, Expr(d - begin)), dims[d], value);
  }
  node.Map(out, axes, value);
  return OkStatus();
}

Status LowerSize(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  StoredBuffer out = node.Output(0, kInt64, {});
  node.Map(out, {}, Product(node.Shape(0)));
  return OkStatus();
}

Status LowerConstantOfShape(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TCC_ASSIGN_OR_RETURN(std::vector<Expr> shape, node.ShapeOperand(0));
  Expr value = FloatConst(kFloat32, 0);
  auto attribute = node.node().attributes.find("value");
  if (attribute != node.node().attributes.end()) {
    const auto* tensor = std::get_if<Tensor>(&attribute->second);
    if (!tensor || ElementCount(tensor->shape).value_or(0) != 1) {
      return node.Error("value is not a tensor of one element");
    }
    value = tensor->dtype.is_float() ? FloatConst(tensor->dtype, ElementAsDouble(*tensor, 0))
                                     : IntConst(tensor->dtype, ElementAsInt(*tensor, 0));
  }
  StoredBuffer out = node.Output(0, value.dtype(), shape);
  node.Map(out, node.Axes(shape), value);
  return OkStatus();
}

}  // namespace tcc
