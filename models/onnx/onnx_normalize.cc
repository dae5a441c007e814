#include "models/onnx/onnx_normalize.h"

#include "models/onnx/onnx_known_rank.h"
#include "models/onnx/onnx_tensor.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The last opset in which the axes of `op` are an attribute.
int LastOpsetOfAxesAttribute(OpKind op) {
  bool early = op == OpKind::kSqueeze || op == OpKind::kUnsqueeze || op == OpKind::kReduceSum;
  return early ? 12 : 17;
}

Status CastTo(OnnxNodeContext& context, DType dtype) {
  bool saturates = context.node.Int("saturate", 1) != 0;
  if (IsFloat8(dtype) && !saturates) context.SetInput(1, context.AddOverflow(dtype));
  context.graph.values[context.node.outputs[0]].dtype = dtype;
  context.node.attributes = {{"to", ToString(dtype)}};
  return OkStatus();
}

}  // namespace

Status NormalizeAxes(OnnxNodeContext& context) {
  std::optional<std::vector<int64_t>> axes = context.TakeInts("axes");
  if (context.opset <= LastOpsetOfAxesAttribute(context.node.op) && context.HasInput(1)) {
    return context.Invalid(fmt::format("axes as an input in opset {}", context.opset));
  }
  if (axes) context.SetInput(1, context.AddInts("axes", *axes));
  if (context.node.op == OpKind::kUnsqueeze && !context.HasInput(1)) {
    return context.Invalid("axes are missing");
  }
  return OkStatus();
}

Status NormalizeCast(OnnxNodeContext& context) {
  int64_t to = context.node.Int("to", 0);
  std::optional<DType> dtype =
      to < 0 || to > INT32_MAX ? std::nullopt : FromOnnxType(static_cast<int32_t>(to));
  if (!dtype) {
    return UnsupportedType(fmt::format("node '{}' (Cast)", context.node.name), to);
  }
  return CastTo(context, *dtype);
}

Status NormalizeCastLike(OnnxNodeContext& context) {
  DType dtype = context.InputType(1);
  context.node.inputs.resize(1);
  return CastTo(context, dtype);
}

Status NormalizeClip(OnnxNodeContext& context) {
  std::optional<double> low = context.TakeFloat("min");
  std::optional<double> high = context.TakeFloat("max");
  if (context.opset < 11 && context.node.inputs.size() > 1) {
    return context.Invalid(fmt::format("bounds as inputs in opset {}", context.opset));
  }
  if (low) context.SetInput(1, context.AddScalar("min", *low));
  if (high) context.SetInput(2, context.AddScalar("max", *high));
  return OkStatus();
}

Status NormalizeConstantOfShape(OnnxNodeContext& context) {
  auto [entry, inserted] = context.node.attributes.emplace("value", MakeZeroTensor(kFloat32, {1}));
  const auto& value = std::get<Tensor>(entry->second);
  if (ElementCount(value.shape).value_or(0) != 1) {
    return context.Invalid(fmt::format("value is {}; expected one element", ToString(value)));
  }
  if (value.dtype.is_storage_only()) {
    return context.NotSupported(
        fmt::format("value of type {} is not supported", ToString(value.dtype)));
  }
  context.graph.values[context.node.outputs[0]].dtype = value.dtype;
  return OkStatus();
}

Status NormalizeDropout(OnnxNodeContext& context) {
  Node& node = context.node;
  if (context.HasInput(2)) {
    const Tensor* training = context.ConstantInput(2);
    const Tensor* ratio = context.ConstantInput(1);
    bool off = training && training->bytes.size() == 1 && training->bytes[0] == 0;
    bool keeps_all =
        ratio && ElementCount(ratio->shape).value_or(0) == 1 && ElementAsDouble(*ratio, 0) == 0;
    if (!off && !keeps_all) return context.IsForTraining("dropout in training mode");
  }
  node.inputs.resize(1);
  if (node.outputs.size() < 2) return OkStatus();

  // The mask, all true; ones of the operand's type before opset 10.
  DType dtype = context.opset < 10 ? context.InputType(0) : kBool;
  context.graph.values[node.outputs[1]].dtype = dtype;
  Tensor kept = MakeZeroTensor(dtype, {1});
  SetElement(kept, 0, 1);
  ValueId shape = context.Emit(OpKind::kShape, node.inputs, {{"start", int64_t{0}}}, kInt64);
  context.EmitAs(node.outputs[1], OpKind::kConstantOfShape, {shape}, {{"value", kept}});
  node.outputs.resize(1);
  return OkStatus();
}

Status NormalizePad(OnnxNodeContext& context) {
  std::optional<std::vector<int64_t>> pads = context.TakeInts("pads");
  std::optional<double> value = context.TakeFloat("value");
  if (context.opset < 11) {
    if (!pads) return context.Invalid("attribute 'pads' is missing");
    if (context.node.inputs.size() > 1) return context.Invalid("pads as an input before opset 11");
    context.SetInput(1, context.AddInts("pads", *pads));
    if (value && *value != 0) context.SetInput(2, context.AddScalar("value", *value));
  }
  if (!context.HasInput(1)) return context.Invalid("pads are missing");
  std::string mode = context.node.String("mode", "");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return context.Invalid(fmt::format("mode '{}'", mode));
  }
  return OkStatus();
}

Status NormalizeSlice(OnnxNodeContext& context) {
  std::optional<std::vector<int64_t>> starts = context.TakeInts("starts");
  std::optional<std::vector<int64_t>> ends = context.TakeInts("ends");
  std::optional<std::vector<int64_t>> axes = context.TakeInts("axes");
  if (context.opset < 10) {
    if (!starts || !ends) return context.Invalid("attribute 'starts' or 'ends' is missing");
    if (context.node.inputs.size() > 1) return context.Invalid("bounds as inputs before opset 10");
    context.SetInput(1, context.AddInts("starts", *starts));
    context.SetInput(2, context.AddInts("ends", *ends));
    if (axes) context.SetInput(3, context.AddInts("axes", *axes));
  }
  if (!context.HasInput(1) || !context.HasInput(2)) {
    return context.Invalid("starts or ends are missing");
  }
  return OkStatus();
}

Status NormalizeSoftmax(OnnxNodeContext& context) {
  return NormalizeSoftmaxOf(context, context.opset);
}

// Before opset 13 the dimensions from `axis` on were one: the operand was seen as a matrix,
// whatever its rank, and each row normalised.
Status NormalizeSoftmaxOf(OnnxNodeContext& context, int64_t opset) {
  Node& node = context.node;
  int64_t axis = node.Int("axis", opset < 13 ? 1 : -1);
  node.attributes["axis"] = axis;
  if (opset >= 13 || axis == -1) return OkStatus();
  std::optional<size_t> rank = KnownRank(context.graph, node.inputs[0]);
  if (rank && axis == static_cast<int64_t>(*rank) - 1) return OkStatus();
  DType dtype = context.InputType(0);
  ValueId shape = context.Emit(OpKind::kShape, {node.inputs[0]}, {{"start", int64_t{0}}}, kInt64);
  ValueId rows = context.Emit(OpKind::kFlatten, {node.inputs[0]}, {{"axis", axis}}, dtype);
  ValueId result = context.Emit(node.op, {rows}, {{"axis", int64_t{1}}}, dtype);
  node.op = OpKind::kReshape;
  node.inputs = {result, shape};
  // A 0 in the shape is an extent of 0, not one to be copied.
  node.attributes = {{"allowzero", int64_t{1}}};
  return OkStatus();
}

}  // namespace tcc
