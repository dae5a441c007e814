#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph/graph.h"

// The storage order of a node's operands in memory, from the node's DataLayout.
namespace tcc {

// Returns the order in which order[d] is the logical dimension stored at position d: {0, 2, 3, 1}
// for rank 4 channels last.
std::vector<int> ChannelsLastOrder(size_t rank);
std::vector<int> RowMajorOrder(size_t rank);

// Returns whether the operator is Conv, ConvTranspose or ConvInteger: its second input is a weight,
// so that only the first one is an activation.
bool IsConvolution(OpKind op);

// Returns the rank of the activations that a node works on: the rank of its first input, or the
// largest one of the operands for an elementwise node.
size_t ActivationRank(const Graph& graph, const Node& node);

// Return the storage order of an input, or of an output of rank `rank`. Under kChannelsLast,
// activations of full rank (>= 3) are stored channels last, operands of smaller rank in their own
// order. A channels-last convolution's weight has the shape [spatial..., C/group, M], or
// [spatial..., C, M/group] for a ConvTranspose, and so is in its own order. A channels-last view
// (Reshape, ...) keeps the first two dimensions. A channels-last Transpose reads channels last; it
// writes its own order, or channels last if its attribute "to" says so. A Repack's attribute "to"
// names its output's layout; its input has the other one.
std::vector<int> InputOrder(const Graph& graph, const Node& node, size_t input);
std::vector<int> OutputOrder(const Graph& graph, const Node& node, size_t rank);

template <typename T>
std::vector<T> Permuted(const std::vector<T>& values, const std::vector<int>& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (int dim : order) result.push_back(values[dim]);
  return result;
}

// Returns whether two orders of a tensor of this shape give the same bytes: they agree on the
// dimensions that are not 1.
bool SameBytes(const std::vector<Expr>& shape, const std::vector<int>& a,
               const std::vector<int>& b);

}  // namespace tcc
