#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

// Small total edits that graph passes are made of.
namespace tcc {

// Of each value: which nodes read it (an index into graph.nodes each time), and whether it is an
// output of the graph.
struct ValueUses {
  std::vector<std::vector<int>> readers;
  std::vector<bool> is_output;
  bool HasOneReader(ValueId id) const { return readers[id].size() == 1 && !is_output[id]; }
};
ValueUses UsesOf(const Graph& graph);

// The index of the node that computes each value, -1 for inputs and constants.
std::vector<int> ProducersOf(const Graph& graph);

// Every reader of `from`, and the graph's outputs, take `to` instead.
void ReplaceUses(Graph& graph, ValueId from, ValueId to);

// Whether the operator's two operands may change places.
bool IsCommutative(OpKind op);

// Named `hint`, or `hint` and a number where that is taken.
ValueId AddConstant(Graph& graph, const std::string& hint, const Tensor& tensor);
ValueId AddComputed(Graph& graph, const std::string& hint, DType dtype,
                    const std::vector<Expr>& shape);

// output[i] = input[i permuted]: dimension d of the result is dimension perm[d] of the tensor.
Tensor TransposedTensor(const Tensor& tensor, const std::vector<int64_t>& perm);
// The same bytes under another shape of as many elements.
Tensor ReshapedTensor(const Tensor& tensor, std::vector<int64_t> shape);

}  // namespace tcc
