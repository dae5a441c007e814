#include "models/onnx/onnx_export_node.h"

#include <algorithm>

#include "models/onnx/export_onnx.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_tensor.h"

namespace tcc {
namespace {

Status CannotSay(const Node& node, const std::string& what) {
  return Unsupported("node '{}' ({}): opset {} has no {}", node.name, ToString(node.op),
                     kExportOpset, what);
}

struct AttributeWriter {
  onnxpb::Attribute& proto;

  void operator()(int64_t value) const {
    proto.set_type(onnxpb::INT);
    proto.set_i(value);
  }
  void operator()(double value) const {
    proto.set_type(onnxpb::FLOAT);
    proto.set_f(static_cast<float>(value));
  }
  void operator()(const std::string& value) const {
    proto.set_type(onnxpb::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(onnxpb::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<double>& values) const {
    proto.set_type(onnxpb::FLOATS);
    for (double value : values) proto.add_floats(static_cast<float>(value));
  }
  void operator()(const Tensor& tensor) const {
    proto.set_type(onnxpb::TENSOR);
    WriteOnnxTensor(tensor, *proto.mutable_t());
  }
};

// Reductions but the sum take their axes as an attribute until opset 17, and have no
// noop_with_empty_axes: such a node without axes is an Identity.
Status AxesToAttribute(const Graph& graph, Node& node) {
  if (node.inputs.size() > 1 && node.inputs[1] != kNoValue) {
    const Tensor* axes = graph.ConstantOf(node.inputs[1]);
    if (axes == nullptr) return CannotSay(node, "reduction over computed axes");
    auto values = axes->values<int64_t>();
    if (!values.empty()) {
      node.attributes["axes"] = std::vector<int64_t>(values.begin(), values.end());
    }
  }
  node.inputs.resize(1);
  bool is_noop = node.Int("noop_with_empty_axes", 0) != 0 && !node.attributes.contains("axes");
  node.attributes.erase("noop_with_empty_axes");
  if (!is_noop) return OkStatus();
  node.op = OpKind::kIdentity;
  node.attributes.clear();
  return OkStatus();
}

Status RemoveDilations(Node& node) {
  std::vector<int64_t> dilations = node.Ints("dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; })) {
    return CannotSay(node, "dilated AveragePool");
  }
  node.attributes.erase("dilations");
  return OkStatus();
}

// Until opset 20 the zero point alone says the result's type.
Status QuantizationToExportOpset(Node& node) {
  bool defaults_to_u8 = node.op == OpKind::kQuantizeLinear && node.inputs.size() < 3;
  if (defaults_to_u8 && node.String("to", "") != ToString(DType(DTypeCode::kUInt8))) {
    return CannotSay(node, "such type without a zero point");
  }
  if (node.Int("block_size", 0) != 0) return CannotSay(node, "blocked quantization");
  node.attributes.erase("block_size");
  node.attributes.erase("to");
  return OkStatus();
}

// A type by name becomes ONNX's number.
Status TypeToNumber(Node& node, const char* key) {
  std::optional<DType> dtype = ParseDType(node.String(key, ""));
  if (!dtype) return CannotSay(node, "such type");
  node.attributes[key] = int64_t{ToOnnxType(*dtype)};
  return OkStatus();
}

Status ToExportOpset(const Graph& graph, Node& node) {
  if (node.op == OpKind::kRepack || node.layout != DataLayout::kChannelsFirst) {
    return CannotSay(node, "memory layouts");
  }
  const OnnxOp* op = FindOnnxOp(ToString(node.op));
  if (op == nullptr || op->since > kExportOpset) return CannotSay(node, "such operator");
  bool reduces = ToString(node.op).starts_with("Reduce");
  if (reduces && node.op != OpKind::kReduceSum) return AxesToAttribute(graph, node);
  if (node.op == OpKind::kAveragePool) return RemoveDilations(node);
  if (node.op == OpKind::kPad && node.inputs.size() > 3) return CannotSay(node, "Pad with axes");
  if (node.op == OpKind::kQuantizeLinear || node.op == OpKind::kDequantizeLinear) {
    return QuantizationToExportOpset(node);
  }
  if (node.op == OpKind::kCast) return TypeToNumber(node, "to");
  bool has_stash = node.attributes.contains("stash_type");
  if (has_stash) return TypeToNumber(node, "stash_type");
  return OkStatus();
}

}  // namespace

void WriteOnnxTensor(const Tensor& tensor, onnxpb::Tensor& proto) {
  proto.set_data_type(ToOnnxType(tensor.dtype));
  proto.mutable_dims()->Add(tensor.shape.begin(), tensor.shape.end());
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

Status WriteOnnxNode(const Graph& graph, const Node& original, onnxpb::Node& proto) {
  Node node = original;
  TCC_RETURN_IF_ERROR(ToExportOpset(graph, node));
  proto.set_name(node.name);
  proto.set_op_type(std::string(ToString(node.op)));
  for (ValueId id : node.inputs) proto.add_input(id == kNoValue ? "" : graph.value(id).name);
  for (ValueId id : node.outputs) proto.add_output(id == kNoValue ? "" : graph.value(id).name);
  for (const auto& [key, value] : node.attributes) {
    onnxpb::Attribute& attribute = *proto.add_attribute();
    attribute.set_name(key);
    std::visit(AttributeWriter{attribute}, value);
  }
  return OkStatus();
}

}  // namespace tcc
