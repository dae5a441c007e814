#include "lower/ops/lowerings.h"

namespace tcc {

// Inference: (x - mean) / sqrt(variance + epsilon) * scale + bias, a channel at a time.
Status LowerBatchNormalization(NodeLowering& node) {
  TCC_RETURN_IF_ERROR(node.CheckInputs(5, 5));
  if (node.node().Int("training_mode", 0) != 0) return node.NotSupported("training mode");
  for (size_t i = 1; i < node.node().outputs.size(); ++i) {
    if (node.Wants(i)) return node.NotSupported("output {}, which only training has", i);
  }
  const std::vector<Expr>& shape = node.Shape(0);
  DType type = node.Type(0);
  if (!type.is_float()) return node.Error("input has type {}; expected floats", ToString(type));
  if (shape.size() < 2) {
    return node.Error("input {} has rank {}; expected 2 or more", ShapeText(shape), shape.size());
  }
  for (size_t i = 1; i < 5; ++i) {
    if (node.Rank(i) != 1 || !SameExtent(node.Shape(i)[0], shape[1])) {
      return node.Error("input {} has shape {}; expected {} channels", i, ShapeText(node.Shape(i)),
                        ShapeText({shape[1]}));
    }
    if (!node.Type(i).is_float()) {
      return node.Error("input {} has type {}; expected floats", i, ToString(node.Type(i)));
    }
  }

  DType computed = AccumulationType(type);
  StoredBuffer out = node.Output(0, type, shape);
  std::vector<Axis> axes = node.Axes(shape);
  auto parameter = [&](size_t input) { return CastTo(computed, node.Load(input, {axes[1].var})); };
  Expr x = CastTo(computed, node.Load(0, VarsOf(axes)));
  Expr epsilon = Const(computed, node.node().Float("epsilon", 1e-5));
  Expr deviation = CallOf(ScalarOp::kSqrt, {parameter(4) + epsilon});
  Expr value = Make<Div>(x - parameter(3), deviation) * parameter(1) + parameter(2);
  node.Map(out, axes, CastTo(type, value));
  return OkStatus();
}

}  // namespace tcc
