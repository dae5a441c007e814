#include "models/onnx/onnx_attributes.h"

#include <fmt/ranges.h>

#include <set>

#include "models/onnx/onnx_sparse_tensor.h"
#include "support/printable.h"

namespace tcc {
namespace {

std::string TypeName(int32_t type) {
  static constexpr std::string_view kNames[] = {
      "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
      "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
      "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  if (type < 0 || static_cast<size_t>(type) >= std::size(kNames)) return fmt::format("{}", type);
  return std::string(kNames[type]);
}

onnxpb::AttributeType OnnxTypeOf(AttributeType type) {
  switch (type) {
    case AttributeType::kInt:
      return onnxpb::INT;
    case AttributeType::kFloat:
      return onnxpb::FLOAT;
    case AttributeType::kString:
      return onnxpb::STRING;
    case AttributeType::kInts:
      return onnxpb::INTS;
    case AttributeType::kFloats:
      return onnxpb::FLOATS;
    case AttributeType::kTensor:
      return onnxpb::TENSOR;
    case AttributeType::kSparseTensor:
      return onnxpb::SPARSE_TENSOR;
    case AttributeType::kStrings:
      return onnxpb::STRINGS;
    case AttributeType::kGraph:
      return onnxpb::GRAPH;
    case AttributeType::kType:
      return onnxpb::TYPE_PROTO;
  }
  return onnxpb::UNDEFINED;
}

// All that an attribute says in words are keywords, which messages quote.
StatusOr<Attribute> ReadText(std::string text, const std::string& where) {
  if (IsPlainText(text)) return Attribute(std::move(text));
  return InvalidInput("{} is not UTF-8 or holds control characters", where);
}

StatusOr<Attribute> ReadValue(onnxpb::Attribute& proto, AttributeType type,
                              const std::string& where, ExternalData& files,
                              const TensorLimits& limits) {
  switch (type) {
    case AttributeType::kInt:
      return Attribute(int64_t{proto.i()});
    case AttributeType::kFloat:
      return Attribute(static_cast<double>(proto.f()));
    case AttributeType::kString:
      return ReadText(proto.s(), where);
    case AttributeType::kInts:
      return Attribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeType::kFloats:
      return Attribute(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeType::kStrings:
      return ReadText(fmt::format("{}", fmt::join(proto.strings(), ",")), where);
    case AttributeType::kGraph:
      return InvalidInput("{} holds no graph", where);
    case AttributeType::kType:
      return InvalidInput("{} holds no value", where);
    case AttributeType::kSparseTensor: {
      TCC_ASSIGN_OR_RETURN(Tensor dense,
                           ReadSparseTensor(*proto.mutable_sparse_tensor(), where, files, limits));
      return Attribute(std::move(dense));
    }
    case AttributeType::kTensor:
      break;
  }
  TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadOnnxTensor(*proto.mutable_t(), where, files, limits));
  return Attribute(std::move(tensor));
}

Attribute DefaultOf(const OnnxAttribute& row) {
  if (row.type == AttributeType::kInt) return static_cast<int64_t>(row.number);
  if (row.type == AttributeType::kString) return std::string(row.text);
  return row.number;
}

bool Exists(const OnnxAttribute& row, int64_t opset) {
  return opset >= row.since && opset <= row.until;
}

}  // namespace

bool IsDefaultDomain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

std::string OperatorName(const onnxpb::Node& node) {
  if (node.op_type().empty()) return "(no operator)";
  return IsDefaultDomain(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
}

int64_t OpsetFor(const onnxpb::Node& node, int64_t default_opset) {
  return IsDefaultDomain(node.domain()) ? default_opset : 1;
}

std::string NodeName(const onnxpb::Node& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.op_type();
}

const OnnxAttribute* FindAttribute(const OnnxOp& op, const std::string& name, int64_t opset) {
  for (const OnnxAttribute& row : op.attributes) {
    if (row.name == name && Exists(row, opset)) return &row;
  }
  return nullptr;
}

StatusOr<std::map<std::string, Attribute>> ReadAttributes(onnxpb::Node& node, const OnnxOp& op,
                                                          int64_t opset, ExternalData& files,
                                                          const TensorLimits& limits) {
  std::string where = fmt::format("node '{}' ({})", NodeName(node), op.name);
  std::map<std::string, Attribute> attributes;
  std::set<std::string> seen;
  for (onnxpb::Attribute& proto : *node.mutable_attribute()) {
    const OnnxAttribute* row = FindAttribute(op, proto.name(), opset);
    if (row == nullptr)
      return Unsupported("{}: attribute '{}' is not supported", where, proto.name());
    std::string what = fmt::format("{}: attribute '{}'", where, proto.name());
    if (!seen.insert(proto.name()).second) return InvalidInput("{} is given twice", what);
    if (!proto.ref_attr_name().empty()) {
      return InvalidInput("{} refers to '{}' outside a function", what, proto.ref_attr_name());
    }
    if (proto.type() != OnnxTypeOf(row->type)) {
      return InvalidInput("{} is {}; expected {}", what, TypeName(proto.type()),
                          ToString(row->type));
    }
    if (row->presence == Presence::kIgnored || row->presence == Presence::kFixed) continue;
    TCC_ASSIGN_OR_RETURN(attributes[proto.name()],
                         ReadValue(proto, row->type, what, files, limits));
  }
  for (const OnnxAttribute& row : op.attributes) {
    if (!Exists(row, opset) || seen.contains(std::string(row.name))) continue;
    if (row.presence == Presence::kRequired) {
      return InvalidInput("{}: attribute '{}' is missing", where, row.name);
    }
    if (row.presence == Presence::kDefault) attributes[std::string(row.name)] = DefaultOf(row);
  }
  return attributes;
}

}  // namespace tcc
