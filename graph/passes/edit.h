#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

// The small total edits that graph passes are made of.
namespace tcc {

// The uses of each value: the nodes that read it (an index into graph.nodes per read), and whether
// it is an output of the graph.
struct ValueUses {
  std::vector<std::vector<int>> readers;
  std::vector<bool> is_output;
  bool HasOneReader(ValueId id) const { return readers[id].size() == 1 && !is_output[id]; }
};
ValueUses UsesOf(const Graph& graph);

// Returns the index of the node that computes each value, -1 for inputs and constants.
std::vector<int> ProducersOf(const Graph& graph);

// Replaces `from` by `to` in every reader and in the graph's outputs.
void ReplaceUses(Graph& graph, ValueId from, ValueId to);

// Returns whether the operator's two operands commute.
bool IsCommutative(OpKind op);

// Adds a constant named `hint`, or `hint` and a number if that name is taken.
ValueId AddConstant(Graph& graph, const std::string& hint, const Tensor& tensor);
ValueId AddComputed(Graph& graph, const std::string& hint, DType dtype,
                    const std::vector<Expr>& shape);
// Adds a vector of extents or positions that a node's shape depends on: a constant if all are
// numbers.
ValueId AddSizes(Graph& graph, const std::string& hint, const std::vector<Expr>& sizes);

// Transposes a tensor: dimension d of the result is dimension perm[d] of the input.
Tensor TransposedTensor(const Tensor& tensor, const std::vector<int64_t>& perm);
// Returns the same bytes under another shape of as many elements.
Tensor ReshapedTensor(const Tensor& tensor, std::vector<int64_t> shape);

}  // namespace tcc
