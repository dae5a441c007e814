#include "models/onnx/export_onnx.h"

#include <algorithm>
#include <array>
#include <climits>
#include <unordered_set>

#include "ir/text/printer.h"
#include "models/onnx/onnx_export_node.h"
#include "models/onnx/onnx_tensor.h"
#include "support/file.h"

namespace tcc {
namespace {

constexpr int64_t kIrVersion = 8;  // goes with opset 17
constexpr size_t kInlineTotal = size_t{1} << 30;
constexpr size_t kExternalFrom = 1024;
constexpr size_t kAlignment = 64;
constexpr std::array<uint8_t, kAlignment> kPadding{};

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
