// Operands that broadcast by attributes, and sums of any number of operands.

#include "ir/graph/constants.h"
#include "models/onnx/onnx_normalize.h"

namespace tcc {
namespace {

// The second operand with dimensions of 1 behind its own, so that they begin at dimension `axis` of
// the first. Ranks are not known yet: the shape is arithmetic, folded once shapes are.
ValueId AlignedAt(OnnxNodeContext& context, int64_t axis) {
  auto shape_of = [&](ValueId id) {
    return context.Emit(OpKind::kShape, {id}, {{"start", int64_t{0}}}, kInt64);
  };
  auto subtract = [&](ValueId a, ValueId b) {
    return context.Emit(OpKind::kSub, {a, b}, {}, kInt64);
  };
  ValueId second = context.node.inputs[1];
  ValueId shape = shape_of(second);
  ValueId rank = shape_of(shape_of(context.node.inputs[0]));
  if (axis >= 0) rank = subtract(rank, context.AddInts("axis", {axis}));
  // A negative axis counts from the end: the number of dimensions from there on.
  ValueId behind = axis >= 0 ? rank : context.AddInts("behind", {-axis});
  ValueId missing = subtract(behind, shape_of(shape));
  ValueId ones =
      context.Emit(OpKind::kConstantOfShape, {missing}, {{"value", IntVector({1})}}, kInt64);
  ValueId padded = context.Emit(OpKind::kConcat, {shape, ones}, {{"axis", int64_t{0}}}, kInt64);
  return context.Emit(OpKind::kReshape, {second, padded}, {{"allowzero", int64_t{1}}},
                      context.InputType(1));
}

// The sum of all inputs, not yet rounded to the type of narrow floats: `computed` says which type
// it has.
ValueId SumOfInputs(OnnxNodeContext& context, DType computed) {
  std::vector<ValueId> terms = context.node.inputs;
  if (computed != context.InputType(0)) {
    for (ValueId& term : terms) {
      term = context.Emit(OpKind::kCast, {term}, {{"to", ToString(computed)}}, computed);
    }
  }
  ValueId sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    sum = context.Emit(OpKind::kAdd, {sum, terms[i]}, {}, computed);
  }
  return sum;
}

DType SumType(DType type) {
  return type.is_float() && type.bits() < 32 ? kFloat32 : type;
}

// The node becomes the last step: `sum` as it is, or rounded.
Status FinishWith(OnnxNodeContext& context, ValueId sum, DType computed) {
  DType type = context.InputType(0);
  bool rounds = computed != type;
  context.node.op = rounds ? OpKind::kCast : OpKind::kIdentity;
  context.node.attributes.clear();
  if (rounds) context.node.attributes["to"] = ToString(type);
  context.node.inputs = {sum};
  return OkStatus();
}

}  // namespace

Status NormalizeBinary(OnnxNodeContext& context) {
  Node& node = context.node;
  bool broadcasts = node.Int("broadcast", 0) != 0;
  std::optional<int64_t> axis;
  if (node.attributes.contains("axis")) axis = node.Int("axis", 0);
  node.attributes.erase("axis");
  node.attributes.erase("broadcast");
  if (broadcasts && axis) node.inputs[1] = AlignedAt(context, *axis);
  return OkStatus();
}

// Before opset 7 a slope is a number for each channel.
Status NormalizePRelu(OnnxNodeContext& context) {
  if (context.opset < 7) context.node.inputs[1] = AlignedAt(context, 1);
  return OkStatus();
}

Status NormalizeSum(OnnxNodeContext& context) {
  DType type = context.InputType(0);
  if (context.node.inputs.size() == 2) return OkStatus();  // an Add
  DType computed = SumType(type);
  return FinishWith(context, SumOfInputs(context, computed), computed);
}

Status NormalizeMean(OnnxNodeContext& context) {
  DType computed = SumType(context.InputType(0));
  ValueId sum = SumOfInputs(context, computed);
  ValueId count =
      context.AddScalar("count", static_cast<double>(context.node.inputs.size()), computed);
  ValueId mean = context.Emit(OpKind::kDiv, {sum, count}, {}, computed);
  return FinishWith(context, mean, computed);
}

}  // namespace tcc
