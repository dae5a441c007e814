#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

// Writes ONNX models byte by byte, valid or not, so that tests of the importer do not lean on its
// own generated code. Field numbers are the format's.
namespace tcc::onnx_bytes {

// A protobuf message under construction.
struct Wire {
  std::string bytes;

  Wire& Varint(int field, uint64_t value) {
    Raw(static_cast<uint64_t>(field) << 3);
    return Raw(value);
  }
  Wire& Bytes(int field, const std::string& value) {
    Raw(static_cast<uint64_t>(field) << 3 | 2);
    Raw(value.size());
    bytes += value;
    return *this;
  }
  Wire& Sub(int field, const Wire& message) { return Bytes(field, message.bytes); }
  Wire& Float(int field, float value) {
    Raw(static_cast<uint64_t>(field) << 3 | 5);
    bytes.append(reinterpret_cast<const char*>(&value), 4);
    return *this;
  }

 private:
  Wire& Raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
    return *this;
  }
};

template <typename T>
std::string RawBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

enum OnnxType {
  kOnnxFloat = 1,
  kOnnxUInt8 = 2,
  kOnnxInt8 = 3,
  kOnnxInt16 = 5,
  kOnnxInt32 = 6,
  kOnnxInt64 = 7,
  kOnnxString = 8,
  kOnnxBool = 9,
  kOnnxFloat16 = 10,
  kOnnxDouble = 11,
  kOnnxUInt32 = 12,
  kOnnxUInt64 = 13,
  kOnnxBFloat16 = 16,
  kOnnxInt4 = 22,
  kOnnxUInt2 = 25
};

// Without data.
inline Wire BareTensor(const std::string& name, int type, const std::vector<int64_t>& dims) {
  Wire tensor;
  for (int64_t dim : dims) tensor.Varint(1, static_cast<uint64_t>(dim));
  return tensor.Varint(2, static_cast<uint64_t>(type)).Bytes(8, name);
}
inline Wire RawTensor(const std::string& name, int type, const std::vector<int64_t>& dims,
                      const std::string& raw) {
  return BareTensor(name, type, dims).Bytes(9, raw);
}
inline Wire Floats(const std::string& name, const std::vector<int64_t>& dims,
                   const std::vector<float>& values) {
  return RawTensor(name, kOnnxFloat, dims, RawBytes(values));
}
inline Wire Ints(const std::string& name, const std::vector<int64_t>& values) {
  return RawTensor(name, kOnnxInt64, {static_cast<int64_t>(values.size())}, RawBytes(values));
}
inline Wire ExternalTensor(const std::string& name, const std::vector<int64_t>& dims,
                           const std::vector<std::pair<std::string, std::string>>& keys) {
  Wire tensor = BareTensor(name, kOnnxFloat, dims);
  for (const auto& [key, value] : keys) tensor.Sub(13, Wire().Bytes(1, key).Bytes(2, value));
  return tensor.Varint(14, 1);
}

inline Wire IntAttr(const std::string& name, int64_t value) {
  return Wire().Bytes(1, name).Varint(20, 2).Varint(3, static_cast<uint64_t>(value));
}
inline Wire FloatAttr(const std::string& name, float value) {
  return Wire().Bytes(1, name).Varint(20, 1).Float(2, value);
}
inline Wire StringAttr(const std::string& name, const std::string& value) {
  return Wire().Bytes(1, name).Varint(20, 3).Bytes(4, value);
}
inline Wire IntsAttr(const std::string& name, const std::vector<int64_t>& values) {
  Wire attribute = Wire().Bytes(1, name).Varint(20, 7);
  for (int64_t value : values) attribute.Varint(8, static_cast<uint64_t>(value));
  return attribute;
}
inline Wire FloatsAttr(const std::string& name, const std::vector<float>& values) {
  Wire attribute = Wire().Bytes(1, name).Varint(20, 6);
  for (float value : values) attribute.Float(7, value);
  return attribute;
}
inline Wire TensorAttr(const std::string& name, const Wire& tensor) {
  return Wire().Bytes(1, name).Varint(20, 4).Sub(5, tensor);
}
inline Wire GraphAttr(const std::string& name, const Wire& graph) {
  return Wire().Bytes(1, name).Varint(20, 5).Sub(6, graph);
}

struct NodeSpec {
  std::string op;
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<Wire> attributes = {};
  std::string name = {};
  std::string domain = {};
};

inline Wire NodeOf(const NodeSpec& spec) {
  Wire node;
  for (const std::string& input : spec.inputs) node.Bytes(1, input);
  for (const std::string& output : spec.outputs) node.Bytes(2, output);
  if (!spec.name.empty()) node.Bytes(3, spec.name);
  node.Bytes(4, spec.op);
  for (const Wire& attribute : spec.attributes) node.Sub(5, attribute);
  if (!spec.domain.empty()) node.Bytes(7, spec.domain);
  return node;
}

// A dimension is a number, or a name; "" is one without a name.
inline Wire InputOf(const std::string& name, int type, const std::vector<std::string>& dims) {
  Wire shape;
  for (const std::string& dim : dims) {
    bool number = !dim.empty() && (dim[0] == '-' || (dim[0] >= '0' && dim[0] <= '9'));
    Wire entry;
    if (number) entry.Varint(1, static_cast<uint64_t>(std::stoll(dim)));
    if (!number && !dim.empty()) entry.Bytes(2, dim);
    shape.Sub(1, entry);
  }
  Wire tensor = Wire().Varint(1, static_cast<uint64_t>(type)).Sub(2, shape);
  return Wire().Bytes(1, name).Sub(2, Wire().Sub(1, tensor));
}
inline Wire Untyped(const std::string& name) {
  return Wire().Bytes(1, name).Sub(2, Wire().Sub(1, Wire()));
}

struct ModelSpec {
  std::vector<NodeSpec> nodes = {};
  std::vector<Wire> inputs = {};
  std::vector<std::string> outputs = {};
  std::vector<Wire> initializers = {};
  int64_t opset = 17;  // 0 for none
};

inline Wire GraphOf(const ModelSpec& spec) {
  Wire graph = Wire().Bytes(2, "test");
  for (const NodeSpec& node : spec.nodes) graph.Sub(1, NodeOf(node));
  for (const Wire& tensor : spec.initializers) graph.Sub(5, tensor);
  for (const Wire& input : spec.inputs) graph.Sub(11, input);
  for (const std::string& output : spec.outputs) graph.Sub(12, Untyped(output));
  return graph;
}

inline std::string ModelOf(const ModelSpec& spec) {
  Wire model = Wire().Varint(1, 8).Sub(7, GraphOf(spec));
  if (spec.opset != 0) {
    model.Sub(8, Wire().Bytes(1, "").Varint(2, static_cast<uint64_t>(spec.opset)));
  }
  return model.bytes;
}

inline std::span<const uint8_t> AsSpan(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

}  // namespace tcc::onnx_bytes
