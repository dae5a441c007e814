#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// A writer of the nodes that replace one compound node: appends values to a graph and nodes to a
// list. Their shapes are inferred later.
class NodeWriter {
 public:
  // `prefix` begins the names of all written nodes and values.
  NodeWriter(Graph& graph, std::vector<Node>& nodes, std::string prefix)
      : graph_(graph), nodes_(nodes), prefix_(std::move(prefix)) {}

  Graph& graph() const { return graph_; }

  using Attributes = std::map<std::string, Attribute>;
  // Adds a node of one result, which has the dtype of its first present operand.
  ValueId Emit(OpKind op, const std::vector<ValueId>& inputs, const Attributes& attributes = {});
  // Adds such a node with `output` as its result.
  void EmitAs(ValueId output, OpKind op, const std::vector<ValueId>& inputs,
              const Attributes& attributes = {});
  void EmitNode(Node node) { nodes_.push_back(std::move(node)); }

  ValueId Constant(const std::string& role, const Tensor& tensor);
  ValueId Ints(const std::vector<int64_t>& values);
  // Returns integers that Shape variables decide: a value that no node computes.
  ValueId Elements(const std::string& role, DType dtype, const std::vector<Expr>& shape,
                   const std::vector<Expr>& elements);
  // Returns a list of extents; a constant if they are numbers.
  ValueId Dims(const std::vector<Expr>& extents);
  // Returns a scalar of a floating-point type.
  ValueId Scalar(DType dtype, double value);

  ValueId Squeeze(ValueId value, int64_t axis);
  ValueId Unsqueeze(ValueId value, int64_t axis);
  ValueId Transpose(ValueId value, const std::vector<int64_t>& perm);
  // Returns value[..., begin:end, ...] along `axis`.
  ValueId Slice(ValueId value, int64_t axis, int64_t begin, int64_t end);
  // Returns value[index, ...]; of a constant, a constant that shares its bytes.
  ValueId Row(ValueId value, int64_t index, int64_t rows);

 private:
  Graph& graph_;
  std::vector<Node>& nodes_;
  std::string prefix_;
};

}  // namespace tcc
