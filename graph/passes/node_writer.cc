#include "graph/passes/node_writer.h"

#include "graph/passes/edit.h"
#include "ir/graph/constants.h"

namespace tcc {

ValueId NodeWriter::Emit(OpKind op, const std::vector<ValueId>& inputs,
                         const Attributes& attributes) {
  DType dtype = kFloat32;
  for (ValueId id : inputs) {
    if (id == kNoValue) continue;
    dtype = graph_.value(id).dtype;
    break;
  }
  ValueId output = AddComputed(graph_, fmt::format("{}/{}", prefix_, ToString(op)), dtype, {});
  EmitAs(output, op, inputs, attributes);
  return output;
}

void NodeWriter::EmitAs(ValueId output, OpKind op, const std::vector<ValueId>& inputs,
                        const Attributes& attributes) {
  nodes_.push_back({.name = graph_.value(output).name,
                    .op = op,
                    .inputs = inputs,
                    .outputs = {output},
                    .attributes = attributes});
}

ValueId NodeWriter::Constant(const std::string& role, const Tensor& tensor) {
  return AddConstant(graph_, fmt::format("{}/{}", prefix_, role), tensor);
}

ValueId NodeWriter::Ints(const std::vector<int64_t>& values) {
  return Constant("ints", IntVector(values));
}

ValueId NodeWriter::Elements(const std::string& role, DType dtype, const std::vector<Expr>& shape,
                             const std::vector<Expr>& elements) {
  ValueId id = AddComputed(graph_, fmt::format("{}/{}", prefix_, role), dtype, shape);
  graph_.values[id].elements = elements;
  return id;
}

ValueId NodeWriter::Dims(const std::vector<Expr>& extents) {
  if (std::optional<std::vector<int64_t>> numbers = AsNumbers(extents)) return Ints(*numbers);
  return Elements("ints", kInt64, {Expr(static_cast<int64_t>(extents.size()))}, extents);
}

ValueId NodeWriter::Scalar(DType dtype, double value) {
  return Constant("number", ScalarTensor(dtype, value));
}

ValueId NodeWriter::Squeeze(ValueId value, int64_t axis) {
  return Emit(OpKind::kSqueeze, {value, Ints({axis})});
}

ValueId NodeWriter::Unsqueeze(ValueId value, int64_t axis) {
  return Emit(OpKind::kUnsqueeze, {value, Ints({axis})});
}

ValueId NodeWriter::Transpose(ValueId value, const std::vector<int64_t>& perm) {
  return Emit(OpKind::kTranspose, {value}, {{"perm", perm}});
}

ValueId NodeWriter::Slice(ValueId value, int64_t axis, int64_t begin, int64_t end) {
  return Emit(OpKind::kSlice, {value, Ints({begin}), Ints({end}), Ints({axis})});
}

ValueId NodeWriter::Row(ValueId value, int64_t index, int64_t rows) {
  if (const Tensor* constant = graph_.ConstantOf(value)) {
    Tensor row = *constant;
    size_t bytes = row.bytes.size() / static_cast<size_t>(rows);
    row.bytes = row.bytes.subspan(static_cast<size_t>(index) * bytes, bytes);
    row.shape.erase(row.shape.begin());
    return Constant("row", row);
  }
  if (rows == 1) return Squeeze(value, 0);
  return Squeeze(Slice(value, 0, index, index + 1), 0);
}

}  // namespace tcc
