#include "ir/graph/constants.h"
#include "models/onnx/onnx_normalize.h"

#include "support/check.h"
#include "support/storage_types.h"

namespace tcc {

const Tensor* OnnxNodeContext::ConstantInput(size_t index) const {
  return HasInput(index) ? graph.ConstantOf(node.inputs[index]) : nullptr;
}

DType OnnxNodeContext::InputType(size_t index) const {
  return graph.value(node.inputs[index]).dtype;
}

bool OnnxNodeContext::HasInput(size_t index) const {
  return index < node.inputs.size() && node.inputs[index] != kNoValue;
}

ValueId OnnxNodeContext::Input(size_t index) const {
  return HasInput(index) ? node.inputs[index] : kNoValue;
}

void OnnxNodeContext::SetInput(size_t index, ValueId id) {
  if (node.inputs.size() <= index) node.inputs.resize(index + 1, kNoValue);
  node.inputs[index] = id;
}

ValueId OnnxNodeContext::AddValue(const std::string& role, DType dtype) {
  return graph.AddValue({.name = fresh_name_(node.name + "/" + role), .dtype = dtype});
}

ValueId OnnxNodeContext::AddConstant(const std::string& role, const Tensor& tensor) {
  return graph.AddValue({.name = fresh_name_(node.name + "/" + role),
                         .dtype = tensor.dtype,
                         .shape = ToExprs(tensor.shape),
                         .constant = tensor});
}

ValueId OnnxNodeContext::AddInts(const std::string& role, const std::vector<int64_t>& values) {
  return AddConstant(role, IntVector(values));
}

ValueId OnnxNodeContext::AddScalar(const std::string& role, double value) {
  return AddScalar(role, value, InputType(0));
}

ValueId OnnxNodeContext::AddScalar(const std::string& role, double value, DType dtype) {
  return AddConstant(role, ScalarTensor(dtype, value));
}

// Infinities where the type has them, else NaNs.
ValueId OnnxNodeContext::AddOverflow(DType dtype) {
  TCC_CHECK(IsFloat8(dtype)) << ToString(dtype);
  bool infinite = dtype.code() == DTypeCode::kFloat8E5M2;
  uint8_t code = infinite ? 0x7c : 0x7f;
  const uint8_t codes[] = {code, static_cast<uint8_t>(code | 0x80)};
  return AddConstant("overflow", MakeTensor(dtype, {2}, codes));
}

std::optional<std::vector<int64_t>> OnnxNodeContext::TakeInts(const std::string& key) {
  auto entry = node.attributes.extract(key);
  if (entry.empty()) return std::nullopt;
  return std::get<std::vector<int64_t>>(entry.mapped());
}

std::optional<double> OnnxNodeContext::TakeFloat(const std::string& key) {
  auto entry = node.attributes.extract(key);
  if (entry.empty()) return std::nullopt;
  return std::get<double>(entry.mapped());
}

ValueId OnnxNodeContext::Emit(OpKind op, std::vector<ValueId> inputs,
                              std::map<std::string, Attribute> attributes, DType dtype) {
  ValueId output = AddValue(std::string(ToString(op)), dtype);
  EmitAs(output, op, std::move(inputs), std::move(attributes));
  return output;
}

void OnnxNodeContext::EmitAs(ValueId output, OpKind op, std::vector<ValueId> inputs,
                             std::map<std::string, Attribute> attributes) {
  graph.nodes.push_back({.name = graph.value(output).name,
                         .op = op,
                         .inputs = std::move(inputs),
                         .outputs = {output},
                         .attributes = std::move(attributes)});
}

Status OnnxNodeContext::Invalid(const std::string& what) const {
  return InvalidInput("node '{}' ({}): {}", node.name, op_, what);
}

Status OnnxNodeContext::NotSupported(const std::string& what) const {
  return Unsupported("node '{}' ({}): {}", node.name, op_, what);
}

Status OnnxNodeContext::IsForTraining(const std::string& what) const {
  return NotSupported(what +
                      " is not supported; expected a model that was exported for inference (in "
                      "PyTorch after model.eval())");
}

}  // namespace tcc
