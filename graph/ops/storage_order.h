#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph/graph.h"

// Which dimension of an operand lies where in memory, from the node's DataLayout.
namespace tcc {

// order[d] is the logical dimension stored at position d: {0, 2, 3, 1} for rank 4 channels last.
std::vector<int> ChannelsLastOrder(size_t rank);
std::vector<int> RowMajorOrder(size_t rank);

// Conv, ConvTranspose, ConvInteger: the second input is a weight, the first alone an activation.
bool IsConvolution(OpKind op);

// The rank of the activations that a node works on: of its first input, or for element-wise nodes
// the largest of its operands.
size_t ActivationRank(const Graph& graph, const Node& node);

// Storage of an input or of an output of `rank`. Under kChannelsLast the activations of full rank
// (>= 3) are stored channels last, operands of smaller rank in their own order. Weights of a
// channels-last convolution are values of shape [spatial..., C/group, M], of a ConvTranspose
// [spatial..., C, M/group], and so in their own order. A view (Reshape, ...) that is channels last
// keeps the first two dimensions. A channels-last Transpose reads channels last; it writes its own
// order, or channels last if its attribute "to" says so. A Repack's attribute "to" names its
// output's layout, its input has the other one.
std::vector<int> InputOrder(const Graph& graph, const Node& node, size_t input);
std::vector<int> OutputOrder(const Graph& graph, const Node& node, size_t rank);

template <typename T>
std::vector<T> Permuted(const std::vector<T>& values, const std::vector<int>& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (int dim : order) result.push_back(values[dim]);
  return result;
}

// Whether two orders of a tensor of this shape give the same bytes: they agree on the dimensions
// that are not 1.
bool SameBytes(const std::vector<Expr>& shape, const std::vector<int>& a,
               const std::vector<int>& b);

}  // namespace tcc
