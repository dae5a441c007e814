#include "models/onnx/export_onnx.h"

#include <algorithm>
#include <array>
#include <climits>
#include <unordered_set>

#include "ir/graph/graph.h"
#include "ir/text/printer.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/onnx_ops.h"
#include "models/onnx/onnx_tensor.h"
#include "support/file.h"

namespace tcc {
namespace {

constexpr int64_t kIrVersion = 8;  // goes with opset 17
constexpr size_t kInlineTotal = size_t{1} << 30;
constexpr size_t kExternalFrom = 1024;
constexpr size_t kAlignment = 64;
constexpr std::array<uint8_t, kAlignment> kPadding{};

// Writes type, shape and raw data.
void WriteOnnxTensor(const Tensor& tensor, onnxpb::Tensor& proto) {
  proto.set_data_type(ToOnnxType(tensor.dtype));
  proto.mutable_dims()->Add(tensor.shape.begin(), tensor.shape.end());
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

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
  if (std::ranges::any_of(dilations, [](int64_t d) { return d != 1; })) {
    return CannotSay(node, "dilated AveragePool");
  }
  node.attributes.erase("dilations");
  return OkStatus();
}

// Until opset 17 parts without a list are equal.
Status RemoveNumOutputs(const Graph& graph, Node& node) {
  if (node.attributes.erase("num_outputs") == 0) return OkStatus();
  const std::vector<Expr>& shape = graph.value(node.inputs[0]).shape;
  int64_t axis = node.Int("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  int64_t extent = AsConstant(shape[axis]).value_or(1);
  bool divides = extent % static_cast<int64_t>(node.outputs.size()) == 0;
  return divides ? OkStatus() : CannotSay(node, "parts that are not equal");
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
  if (node.op == OpKind::kSplit) return RemoveNumOutputs(graph, node);
  if (node.op == OpKind::kPad && node.inputs.size() > 3) return CannotSay(node, "Pad with axes");
  if (node.op == OpKind::kQuantizeLinear || node.op == OpKind::kDequantizeLinear) {
    return QuantizationToExportOpset(node);
  }
  if (node.op == OpKind::kCast) return TypeToNumber(node, "to");
  bool has_stash = node.attributes.contains("stash_type");
  if (has_stash) return TypeToNumber(node, "stash_type");
  return OkStatus();
}

// Writes a node in the form of ir/graph/graph.h as an operator of kExportOpset. Fails with
// Unimplemented, naming the node, if that opset cannot express it.
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

// The side file while it is put together; pieces point into tensors.
struct SideFile {
  std::string name;
  std::vector<std::span<const uint8_t>> pieces;
  size_t size = 0;

  // The offset at which the bytes will stand.
  size_t Append(std::span<const uint8_t> bytes) {
    size_t gap = (kAlignment - size % kAlignment) % kAlignment;
    if (gap > 0) pieces.emplace_back(kPadding.data(), gap);
    size_t offset = size + gap;
    pieces.push_back(bytes);
    size = offset + bytes.size();
    return offset;
  }
};

void AddKey(onnxpb::Tensor& proto, const std::string& key, const std::string& value) {
  onnxpb::KeyValue& entry = *proto.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

// `side` is nullptr for weights inline.
void WriteInitializer(const Value& value, SideFile* side, onnxpb::Tensor& proto) {
  WriteOnnxTensor(*value.constant, proto);
  proto.set_name(value.name);
  std::span<const uint8_t> bytes = value.constant->bytes;
  if (side == nullptr || bytes.size() < kExternalFrom) return;
  proto.clear_raw_data();
  proto.set_data_location(1);
  AddKey(proto, "location", side->name);
  AddKey(proto, "offset", fmt::format("{}", side->Append(bytes)));
  AddKey(proto, "length", fmt::format("{}", bytes.size()));
}

void WriteValueInfo(const Value& value, onnxpb::ValueInfo& proto) {
  proto.set_name(value.name);
  onnxpb::Type::TensorOf& type = *proto.mutable_type()->mutable_tensor_type();
  type.set_elem_type(ToOnnxType(value.dtype));
  type.mutable_shape();
  for (const Expr& dim : value.shape) {
    onnxpb::Shape::Dimension& out = *type.mutable_shape()->add_dim();
    if (std::optional<int64_t> extent = AsConstant(dim)) {
      out.set_dim_value(*extent);
    } else {
      out.set_dim_param(Print(dim));
    }
  }
}

// Constants that a node of the written model or the caller reads.
std::unordered_set<std::string> UsedNames(const Graph& graph, const onnxpb::Graph& proto) {
  std::unordered_set<std::string> used;
  for (const onnxpb::Node& node : proto.node()) {
    used.insert(node.input().begin(), node.input().end());
  }
  for (ValueId id : graph.outputs) used.insert(graph.value(id).name);
  return used;
}

StatusOr<std::string> Serialize(const Graph& graph, SideFile* side) {
  TCC_RETURN_IF_ERROR(VerifyGraph(graph));
  onnxpb::Model model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("tcc");
  model.add_opset_import()->set_version(kExportOpset);
  onnxpb::Graph& proto = *model.mutable_graph();
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  for (const Node& node : graph.nodes) {
    TCC_RETURN_IF_ERROR(WriteOnnxNode(graph, node, *proto.add_node()));
  }
  for (ValueId id : graph.inputs) WriteValueInfo(graph.value(id), *proto.add_input());
  for (ValueId id : graph.outputs) WriteValueInfo(graph.value(id), *proto.add_output());
  std::unordered_set<std::string> used = UsedNames(graph, proto);
  for (const Value& value : graph.values) {
    if (!value.constant || !used.contains(value.name)) continue;
    WriteInitializer(value, side, *proto.add_initializer());
  }
  if (model.ByteSizeLong() > INT_MAX) {
    return InvalidInput("the model takes {} bytes inline; the format's limit is 2 GiB less one",
                        model.ByteSizeLong());
  }
  return model.SerializeAsString();
}

bool UsesSideFile(const Graph& graph, ExportOptions::Weights weights) {
  switch (weights) {
    case ExportOptions::Weights::kInline:
      return false;
    case ExportOptions::Weights::kExternal:
      return true;
    case ExportOptions::Weights::kAuto:
      break;
  }
  size_t total = 0;
  for (const Value& value : graph.values) {
    if (value.constant) total += value.constant->bytes.size();
  }
  return total >= kInlineTotal;
}

}  // namespace

StatusOr<std::string> ExportOnnxBytes(const Graph& graph) {
  return Serialize(graph, nullptr);
}

Status ExportOnnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  SideFile side;
  bool has_side = UsesSideFile(graph, options.weights);
  side.name = path.substr(path.find_last_of('/') + 1) + ".data";
  TCC_ASSIGN_OR_RETURN(std::string model, Serialize(graph, has_side ? &side : nullptr));
  // The model last: it is never there without its weights.
  if (has_side) TCC_RETURN_IF_ERROR(WriteFileAtomically(path + ".data", side.pieces));
  return WriteFileAtomically(path, model);
}

}  // namespace tcc
