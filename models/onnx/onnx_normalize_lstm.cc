// DynamicQuantizeLSTM: an LSTM over dequantized weights.
//
// ONNX Runtime also rounds the operands of its products to 8 bits: the input once, the state at
// each step, over the rows that one of its threads has. Here they stay floats, so that results
// depend neither on threads nor on the other rows of a batch.

#include "models/onnx/onnx_normalize.h"

namespace tcc {
namespace {

enum Input : size_t { kW = 1, kR = 2, kPeepholes = 7, kWScale = 8, kRScale = 10, kInputs = 12 };

// Returns weights [directions, 4 * hidden, n] from the bytes [directions, n, 4 * hidden] of input
// `weight`. Inputs `scale` and the one behind it, the zero point, have an entry for each direction
// or for each column of each direction.
StatusOr<ValueId> Dequantized(OnnxNodeContext& context, size_t weight, size_t scale) {
  std::vector<std::vector<int64_t>> shapes;
  for (size_t input : {weight, scale, scale + 1}) {
    const Tensor* tensor = context.ConstantInput(input);
    if (!tensor)
      return context.NotSupported(fmt::format("input {} is computed; expected a constant", input));
    shapes.push_back(tensor->shape);
  }
  DType type = context.InputType(weight);
  if (!type.is_integer() || type.bits() != 8) {
    return context.NotSupported(
        fmt::format("input {} is {}; supported are i8 and u8", weight, ToString(type)));
  }
  const std::vector<int64_t>& shape = shapes[0];
  if (shape.size() != 3) {
    return context.Invalid(fmt::format("input {} has rank {}; expected 3", weight, shape.size()));
  }
  const std::vector<int64_t> directions = {shape[0]}, columns = {shape[0], shape[2]};
  for (size_t i : {1, 2}) {
    if (shapes[i] == shapes[1] && (shapes[i] == directions || shapes[i] == columns)) continue;
    return context.Invalid(fmt::format(
        "input {} has shape {}; expected {} or {}, scale and zero point the same", scale + i - 1,
        ShapeToString(shapes[i]), ShapeToString(directions), ShapeToString(columns)));
  }
  DType dtype = context.InputType(scale);
  std::vector<ValueId> inputs;
  for (size_t input : {weight, scale, scale + 1}) inputs.push_back(context.node.inputs[input]);
  std::map<std::string, Attribute> attributes = {{"axis", int64_t{0}}, {"to", ToString(dtype)}};
  if (shapes[1] == columns) {  // each a block of all rows
    attributes["axis"] = int64_t{1};
    attributes["block_size"] = shape[1];
    for (size_t i : {1, 2}) {
      inputs[i] = context.Emit(OpKind::kUnsqueeze, {inputs[i], context.AddInts("axes", {1})}, {},
                               context.graph.value(inputs[i]).dtype);
    }
  }
  ValueId rows = context.Emit(OpKind::kDequantizeLinear, inputs, attributes, dtype);
  return context.Emit(OpKind::kTranspose, {rows}, {{"perm", std::vector<int64_t>{0, 2, 1}}}, dtype);
}

}  // namespace

Status NormalizeDynamicQuantizeLSTM(OnnxNodeContext& context) {
  Node& node = context.node;
  for (size_t input = kWScale; input < kInputs; ++input) {
    if (!context.HasInput(input)) return context.Invalid(fmt::format("input {} is missing", input));
  }
  TCC_ASSIGN_OR_RETURN(ValueId w, Dequantized(context, kW, kWScale));
  TCC_ASSIGN_OR_RETURN(ValueId r, Dequantized(context, kR, kRScale));
  node.inputs.resize(kPeepholes + 1);
  node.inputs[kW] = w;
  node.inputs[kR] = r;
  return OkStatus();
}

}  // namespace tcc
