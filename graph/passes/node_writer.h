#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// Writes nodes whose shapes are inferred later, for what stands for many nodes: appends values to a
// graph and nodes to a list.
class NodeWriter {
 public:
  // `prefix` begins the names of all that is written.
  NodeWriter(Graph& graph, std::vector<Node>& nodes, std::string prefix)
      : graph_(graph), nodes_(nodes), prefix_(std::move(prefix)) {}

  Graph& graph() const { return graph_; }

  using Attributes = std::map<std::string, Attribute>;
  // A node of one result, which has the dtype of the first operand that is there.
  ValueId Emit(OpKind op, const std::vector<ValueId>& inputs, const Attributes& attributes = {});
  // The same with `output` as its result.
  void EmitAs(ValueId output, OpKind op, const std::vector<ValueId>& inputs,
              const Attributes& attributes = {});
  void EmitNode(Node node) { nodes_.push_back(std::move(node)); }

  ValueId Constant(const std::string& role, const Tensor& tensor);
  ValueId Ints(const std::vector<int64_t>& values);
  // A scalar of a floating-point type.
  ValueId Scalar(DType dtype, double value);

  ValueId Squeeze(ValueId value, int64_t axis);
  ValueId Unsqueeze(ValueId value, int64_t axis);
  ValueId Transpose(ValueId value, const std::vector<int64_t>& perm);
  // value[..., begin:end, ...] along `axis`.
  ValueId Slice(ValueId value, int64_t axis, int64_t begin, int64_t end);
  // value[index, ...]; a constant gives a constant that shares its bytes.
  ValueId Row(ValueId value, int64_t index, int64_t rows);

 private:
  Graph& graph_;
  std::vector<Node>& nodes_;
  std::string prefix_;
};

}  // namespace tcc
