#include <algorithm>

#include "models/onnx/onnx_normalize.h"
#include "models/onnx/onnx_tensor.h"
#include "support/storage_types.h"

// Quantized operators. QuantizeLinear and DequantizeLinear stay; the others are written with them:
// convolutions and products as ConvInteger and MatMulInteger, exact in i32, whose result one
// multiplication brings to the output's scale; all others in floats between a DequantizeLinear and
// a QuantizeLinear.
namespace tcc {
namespace {

const DType kU8 = DType(DTypeCode::kUInt8);

// Returns the rank of a constant or of an input of the graph, 0 of a scalar.
std::optional<size_t> GivenRank(const Graph& graph, ValueId id) {
  bool given =
      graph.ConstantOf(id) != nullptr || std::ranges::find(graph.inputs, id) != graph.inputs.end();
  return given ? std::optional(graph.value(id).shape.size()) : std::nullopt;
}

ValueId Number(OnnxNodeContext& context, const std::string& role, double value) {
  return context.AddScalar(role, value, kFloat32);
}

ValueId EmitBinary(OnnxNodeContext& context, OpKind op, ValueId a, ValueId b) {
  return context.Emit(op, {a, b}, {}, context.graph.value(a).dtype);
}

ValueId CastToFloat(OnnxNodeContext& context, ValueId id) {
  return context.Emit(OpKind::kCast, {id}, {{"to", ToString(kFloat32)}}, kFloat32);
}

// A value, and what its integers mean. Without a zero point it is 0.
struct Quantized {
  ValueId value;
  ValueId scale;
  ValueId zero = kNoValue;
};

Quantized InputTriple(const OnnxNodeContext& context, size_t first) {
  return {context.node.inputs[first], context.node.inputs[first + 1], context.Input(first + 2)};
}

ValueId Dequantize(OnnxNodeContext& context, const Quantized& x) {
  std::vector<ValueId> inputs = {x.value, x.scale};
  if (x.zero != kNoValue) inputs.push_back(x.zero);
  DType dtype = context.graph.value(x.scale).dtype;
  return context.Emit(OpKind::kDequantizeLinear, std::move(inputs),
                      {{"axis", int64_t{1}}, {"to", ToString(dtype)}}, dtype);
}

// Makes the node itself the QuantizeLinear that gives its first output.
void BecomeQuantize(OnnxNodeContext& context, ValueId value, ValueId scale, ValueId zero,
                    DType type) {
  Node& node = context.node;
  node.op = OpKind::kQuantizeLinear;
  node.inputs = {value, scale};
  if (zero != kNoValue) node.inputs.push_back(zero);
  node.attributes = {{"axis", int64_t{1}}, {"to", ToString(type)}};
  context.graph.values[node.outputs[0]].dtype = type;
}

// The same for what is at the output's scale already.
void BecomeRounding(OnnxNodeContext& context, ValueId value, ValueId zero, DType type) {
  BecomeQuantize(context, value, Number(context, "one", 1), zero, type);
}

// One scale, or one a channel as [M, 1, ...], which broadcasts over `spatial` dimensions.
StatusOr<ValueId> ScaleOfChannels(OnnxNodeContext& context, ValueId scale, size_t spatial) {
  std::optional<size_t> rank = GivenRank(context.graph, scale);
  if (!rank) return context.NotSupported("a scale that is computed is not supported");
  if (*rank == 0) return scale;
  std::vector<int64_t> axes;
  for (size_t d = 0; d < spatial; ++d) axes.push_back(static_cast<int64_t>(d) + 1);
  return context.Emit(OpKind::kUnsqueeze, {scale, context.AddInts("axes", axes)}, {},
                      context.graph.value(scale).dtype);
}

// The scale of the left operand of a product: one number, one a row, or one a row of each matrix.
StatusOr<ValueId> ScaleOfRows(OnnxNodeContext& context, ValueId scale) {
  std::optional<size_t> rank = GivenRank(context.graph, scale);
  if (!rank) return context.NotSupported("a scale that is computed is not supported");
  bool one = *rank == 0 || IsConstant(context.graph.value(scale).shape[0], 1);
  if (*rank != 1 || one) return scale;
  return context.Emit(OpKind::kUnsqueeze, {scale, context.AddInts("axes", {1})}, {},
                      context.graph.value(scale).dtype);
}

// The element type that an attribute names by ONNX's number; nullopt for 0, which says nothing.
StatusOr<std::optional<DType>> TakeType(OnnxNodeContext& context, const std::string& key) {
  auto entry = context.node.attributes.extract(key);
  int64_t number = entry.empty() ? 0 : std::get<int64_t>(entry.mapped());
  if (number == 0) return std::optional<DType>();
  std::optional<DType> dtype =
      number < 0 || number > INT32_MAX ? std::nullopt : FromOnnxType(static_cast<int32_t>(number));
  if (!dtype) {
    return context.NotSupported(fmt::format("{} {} is not supported", key, OnnxTypeName(number)));
  }
  return dtype;
}

Status SetResultType(OnnxNodeContext& context, DType dtype) {
  context.node.attributes["to"] = ToString(dtype);
  context.graph.values[context.node.outputs[0]].dtype = dtype;
  return OkStatus();
}

ValueId IntegerMatMul(OnnxNodeContext& context, const Quantized& a, const Quantized& b) {
  return context.Emit(OpKind::kMatMulInteger, {a.value, b.value, a.zero, b.zero}, {}, kInt32);
}

ValueId TransposedMatrix(OnnxNodeContext& context, ValueId id) {
  return context.Emit(OpKind::kTranspose, {id}, {{"perm", std::vector<int64_t>{1, 0}}},
                      context.graph.value(id).dtype);
}

// The range of x with 0 in it becomes 0 to 255: gives scale and zero point to these values. A range
// of 0 has scale 1: x is 0 everywhere.
void EmitRange(OnnxNodeContext& context, ValueId x, ValueId scale, ValueId zero_point) {
  ValueId zero = Number(context, "zero", 0);
  std::map<std::string, Attribute> whole = {{"keepdims", int64_t{0}},
                                            {"noop_with_empty_axes", int64_t{0}}};
  ValueId least = context.Emit(OpKind::kReduceMin, {x}, whole, kFloat32);
  ValueId most = context.Emit(OpKind::kReduceMax, {x}, whole, kFloat32);
  ValueId lowest = EmitBinary(context, OpKind::kMin, least, zero);
  ValueId highest = EmitBinary(context, OpKind::kMax, most, zero);
  ValueId range = EmitBinary(context, OpKind::kSub, highest, lowest);
  ValueId step = EmitBinary(context, OpKind::kDiv, range, Number(context, "steps", 255));
  ValueId flat = context.Emit(OpKind::kEqual, {range, zero}, {}, kBool);
  context.EmitAs(scale, OpKind::kWhere, {flat, Number(context, "one", 1), step}, {});
  ValueId offset = context.Emit(OpKind::kNeg, {lowest}, {}, kFloat32);
  context.EmitAs(zero_point, OpKind::kQuantizeLinear, {offset, scale},
                 {{"axis", int64_t{1}}, {"to", ToString(kU8)}});
}

// a_scale * b_scale * (A B) + bias in floats.
void BecomeScaledProduct(OnnxNodeContext& context, const Quantized& a, const Quantized& b,
                         ValueId bias) {
  Node& node = context.node;
  ValueId scale = EmitBinary(context, OpKind::kMul, a.scale, b.scale);
  ValueId sums = CastToFloat(context, IntegerMatMul(context, a, b));
  node.attributes.clear();
  node.op = OpKind::kMul;
  node.inputs = {sums, scale};
  if (bias != kNoValue) {
    ValueId product = EmitBinary(context, OpKind::kMul, sums, scale);
    node.op = OpKind::kAdd;
    node.inputs = {product, bias};
  }
  context.graph.values[node.outputs[0]].dtype = kFloat32;
}

}  // namespace

Status NormalizeQuantizeLinear(OnnxNodeContext& context) {
  TCC_ASSIGN_OR_RETURN(std::optional<DType> asked, TakeType(context, "output_dtype"));
  DType dtype = asked.value_or(kU8);
  if (context.HasInput(2)) {
    dtype = context.InputType(2);
    if (asked && *asked != dtype) {
      return context.Invalid(fmt::format("output_dtype is {}; the zero point is {}",
                                         ToString(*asked), ToString(dtype)));
    }
  }
  bool saturates = context.node.Int("saturate", 1) != 0;
  context.node.attributes.erase("saturate");
  if (IsFloat8(dtype) && !saturates) context.SetInput(3, context.AddOverflow(dtype));
  return SetResultType(context, dtype);
}

Status NormalizeDequantizeLinear(OnnxNodeContext& context) {
  TCC_ASSIGN_OR_RETURN(std::optional<DType> asked, TakeType(context, "output_dtype"));
  return SetResultType(context, asked.value_or(context.InputType(1)));
}

Status NormalizeDynamicQuantizeLinear(OnnxNodeContext& context) {
  Node& node = context.node;
  ValueId x = node.inputs[0];
  auto output = [&](size_t index, const std::string& role, DType dtype) {
    bool named = index < node.outputs.size() && node.outputs[index] != kNoValue;
    ValueId id = named ? node.outputs[index] : context.AddValue(role, dtype);
    context.graph.values[id].dtype = dtype;
    return id;
  };
  ValueId scale = output(1, "scale", kFloat32);
  ValueId zero = output(2, "zero_point", kU8);
  EmitRange(context, x, scale, zero);
  node.outputs.resize(1);
  BecomeQuantize(context, x, scale, zero, kU8);
  return OkStatus();
}

Status NormalizeQLinearMatMul(OnnxNodeContext& context) {
  Quantized a = InputTriple(context, 0);
  Quantized b = InputTriple(context, 3);
  ValueId y_scale = context.node.inputs[6];
  TCC_ASSIGN_OR_RETURN(ValueId rows, ScaleOfRows(context, a.scale));
  ValueId scale = EmitBinary(context, OpKind::kMul, rows, b.scale);
  ValueId ratio = EmitBinary(context, OpKind::kDiv, scale, y_scale);
  if (context.graph.value(ratio).dtype != kFloat32) ratio = CastToFloat(context, ratio);
  ValueId sums = CastToFloat(context, IntegerMatMul(context, a, b));
  BecomeRounding(context, EmitBinary(context, OpKind::kMul, sums, ratio), context.Input(7),
                 context.InputType(7));
  return OkStatus();
}

Status NormalizeQLinearConv(OnnxNodeContext& context) {
  TCC_RETURN_IF_ERROR(NormalizeConvOf(context, 3));
  Node& node = context.node;
  size_t spatial = node.Ints("strides").size();
  if (spatial == 0)
    return context.NotSupported("a weight that is computed is not supported without kernel_shape");
  Quantized x = InputTriple(context, 0);
  Quantized w = InputTriple(context, 3);
  ValueId y_scale = node.inputs[6];
  ValueId y_zero = context.Input(7);
  DType type = context.InputType(7);
  ValueId sums = context.Emit(OpKind::kConvInteger, {x.value, w.value, x.zero, w.zero},
                              node.attributes, kInt32);
  if (context.HasInput(8)) {
    TCC_ASSIGN_OR_RETURN(ValueId bias, ScaleOfChannels(context, node.inputs[8], spatial));
    sums = EmitBinary(context, OpKind::kAdd, sums, bias);
  }
  TCC_ASSIGN_OR_RETURN(ValueId channels, ScaleOfChannels(context, w.scale, spatial));
  ValueId scale = EmitBinary(context, OpKind::kMul, x.scale, channels);
  ValueId ratio = EmitBinary(context, OpKind::kDiv, scale, y_scale);
  ValueId scaled = EmitBinary(context, OpKind::kMul, CastToFloat(context, sums), ratio);
  BecomeRounding(context, scaled, y_zero, type);
  return OkStatus();
}

// alpha * a_scale * b_scale * (A' B' + C), as floats without a scale of the output.
Status NormalizeQGemm(OnnxNodeContext& context) {
  Node& node = context.node;
  Quantized a = InputTriple(context, 0);
  Quantized b = InputTriple(context, 3);
  if (node.Int("transA", 0) != 0) a.value = TransposedMatrix(context, a.value);
  if (node.Int("transB", 0) != 0) b.value = TransposedMatrix(context, b.value);
  ValueId sums = IntegerMatMul(context, a, b);
  if (context.HasInput(6)) sums = EmitBinary(context, OpKind::kAdd, sums, node.inputs[6]);
  ValueId scale = EmitBinary(context, OpKind::kMul, a.scale, b.scale);
  double alpha = node.Float("alpha", 1);
  if (alpha != 1) {
    scale = EmitBinary(context, OpKind::kMul, scale, Number(context, "alpha", alpha));
  }
  DType type = context.InputType(0);
  if (context.HasInput(7)) {
    ValueId ratio = EmitBinary(context, OpKind::kDiv, scale, node.inputs[7]);
    ValueId zero = context.Input(8);
    ValueId scaled = EmitBinary(context, OpKind::kMul, CastToFloat(context, sums), ratio);
    BecomeRounding(context, scaled, zero, type);
    return OkStatus();
  }
  node.op = OpKind::kMul;
  node.inputs = {CastToFloat(context, sums), scale};
  node.attributes.clear();
  context.graph.values[node.outputs[0]].dtype = kFloat32;
  return OkStatus();
}

Status NormalizeDynamicQuantizeMatMul(OnnxNodeContext& context) {
  Node& node = context.node;
  ValueId scale = context.AddValue("a_scale", kFloat32);
  ValueId zero = context.AddValue("a_zero_point", kU8);
  EmitRange(context, node.inputs[0], scale, zero);
  ValueId a = context.Emit(OpKind::kQuantizeLinear, {node.inputs[0], scale, zero},
                           {{"axis", int64_t{1}}, {"to", ToString(kU8)}}, kU8);
  BecomeScaledProduct(context, {a, scale, zero}, {node.inputs[1], node.inputs[2], context.Input(3)},
                      context.Input(4));
  return OkStatus();
}

Status NormalizeMatMulIntegerToFloat(OnnxNodeContext& context) {
  const Node& node = context.node;
  Quantized a = {node.inputs[0], node.inputs[2], context.Input(4)};
  Quantized b = {node.inputs[1], node.inputs[3], context.Input(5)};
  BecomeScaledProduct(context, a, b, context.Input(6));
  return OkStatus();
}

Status NormalizeQLinearBinary(OnnxNodeContext& context) {
  const Node& node = context.node;
  DType type = context.InputType(0);
  ValueId a = Dequantize(context, InputTriple(context, 0));
  ValueId b = Dequantize(context, InputTriple(context, 3));
  BecomeQuantize(context, EmitBinary(context, node.op, a, b), node.inputs[6], context.Input(7),
                 type);
  return OkStatus();
}

namespace {

// Zero points may be left out, scales not.
Status ExpectOutputScale(const OnnxNodeContext& context) {
  return context.HasInput(3) ? OkStatus() : context.Invalid("input 3 is missing");
}

}  // namespace

Status NormalizeQLinearUnary(OnnxNodeContext& context) {
  TCC_RETURN_IF_ERROR(ExpectOutputScale(context));
  Node& node = context.node;
  DType type = context.InputType(0);
  ValueId x = Dequantize(context, InputTriple(context, 0));
  ValueId y = context.Emit(node.op, {x}, node.attributes, context.graph.value(x).dtype);
  BecomeQuantize(context, y, node.inputs[3], context.Input(4), type);
  return OkStatus();
}

// The node says itself which opset's Softmax it means.
Status NormalizeQLinearSoftmax(OnnxNodeContext& context) {
  TCC_RETURN_IF_ERROR(ExpectOutputScale(context));
  Node& node = context.node;
  DType type = context.InputType(0);
  const std::vector<ValueId> inputs = node.inputs;
  node.inputs = {Dequantize(context, InputTriple(context, 0))};
  int64_t opset = node.Int("opset", 0);
  node.attributes.erase("opset");
  TCC_RETURN_IF_ERROR(NormalizeSoftmaxOf(context, opset));
  ValueId y = context.Emit(node.op, node.inputs, node.attributes,
                           context.graph.value(node.inputs[0]).dtype);
  BecomeQuantize(context, y, inputs[3], inputs.size() > 4 ? inputs[4] : kNoValue, type);
  return OkStatus();
}

// Averages the integers, which f32 holds exactly, and rounds behind the output's zero point, as
// ONNX Runtime does: an average in the middle of two results becomes the even one.
Status NormalizeQLinearAveragePool(OnnxNodeContext& context) {
  TCC_RETURN_IF_ERROR(ExpectOutputScale(context));
  TCC_RETURN_IF_ERROR(NormalizePool(context));
  const Node& node = context.node;
  DType type = context.InputType(0);
  ValueId zero = context.Input(4);
  ValueId steps =
      Dequantize(context, {node.inputs[0], Number(context, "step", 1), context.Input(2)});
  ValueId mean = context.Emit(node.op, {steps}, node.attributes, kFloat32);
  ValueId ratio = EmitBinary(context, OpKind::kDiv, node.inputs[1], node.inputs[3]);
  ValueId result = EmitBinary(context, OpKind::kMul, mean, ratio);
  if (zero != kNoValue) {
    result = EmitBinary(context, OpKind::kAdd, result, CastToFloat(context, zero));
  }
  BecomeRounding(context, result, kNoValue, type);
  return OkStatus();
}

// (y_scale, y_zero_point, then for each operand: value, scale, zero point).
Status NormalizeQLinearConcat(OnnxNodeContext& context) {
  Node& node = context.node;
  if (node.inputs.size() % 3 != 2) {
    return context.Invalid(
        fmt::format("has {} inputs; expected two and three for each operand", node.inputs.size()));
  }
  std::vector<ValueId> operands;
  for (size_t i = 2; i < node.inputs.size(); i += 3) {
    bool quantized = context.InputType(i).is_integer() && context.InputType(i + 1).is_float() &&
                     context.InputType(i + 2) == context.InputType(i);
    if (!quantized)
      return context.Invalid(fmt::format("inputs {} to {} have wrong types", i, i + 2));
    operands.push_back(Dequantize(context, InputTriple(context, i)));
  }
  ValueId joined = context.Emit(OpKind::kConcat, operands, node.attributes,
                                context.graph.value(operands[0]).dtype);
  BecomeQuantize(context, joined, node.inputs[0], node.inputs[1], context.InputType(1));
  return OkStatus();
}

Status NormalizeQLinearWhere(OnnxNodeContext& context) {
  const Node& node = context.node;
  DType type = context.InputType(1);
  ValueId x = Dequantize(context, InputTriple(context, 1));
  ValueId y = Dequantize(context, InputTriple(context, 4));
  ValueId picked =
      context.Emit(OpKind::kWhere, {node.inputs[0], x, y}, {}, context.graph.value(x).dtype);
  BecomeQuantize(context, picked, node.inputs[7], context.Input(8), type);
  return OkStatus();
}

}  // namespace tcc
