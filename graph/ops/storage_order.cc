#include "graph/ops/storage_order.h"

#include <algorithm>
#include <numeric>

namespace tcc {
namespace {

bool IsTo(const Node& node, const char* layout) {
  return node.String("to", "") == layout;
}

bool IsView(OpKind op) {
  return op == OpKind::kReshape || op == OpKind::kFlatten || op == OpKind::kSqueeze ||
         op == OpKind::kUnsqueeze;
}

}  // namespace

bool IsConvolution(OpKind op) {
  return op == OpKind::kConv || op == OpKind::kConvTranspose || op == OpKind::kConvInteger;
}

std::vector<int> ChannelsLastOrder(size_t rank) {
  std::vector<int> order = RowMajorOrder(rank);
  if (rank >= 3) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<int> RowMajorOrder(size_t rank) {
  std::vector<int> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

size_t ActivationRank(const Graph& graph, const Node& node) {
  size_t rank = 0;
  for (ValueId input : node.inputs) {
    if (input == kNoValue) continue;
    rank = std::max(rank, graph.value(input).shape.size());
    // Only element-wise operands broadcast; for the others the first input is the activation.
    if (IsConvolution(node.op)) break;
  }
  return rank;
}

std::vector<int> InputOrder(const Graph& graph, const Node& node, size_t input) {
  size_t rank = graph.value(node.inputs[input]).shape.size();
  bool channels_last = node.layout == DataLayout::kChannelsLast && rank >= 3 &&
                       rank == ActivationRank(graph, node) &&
                       (!IsConvolution(node.op) || input == 0);
  if (node.op == OpKind::kRepack) channels_last = IsTo(node, "channels_first");
  return channels_last ? ChannelsLastOrder(rank) : RowMajorOrder(rank);
}

std::vector<int> OutputOrder(const Graph& graph, const Node& node, size_t rank) {
  bool channels_last = node.layout == DataLayout::kChannelsLast && rank >= 3 &&
                       (rank == ActivationRank(graph, node) || IsView(node.op));
  if (node.op == OpKind::kRepack || node.op == OpKind::kTranspose) {
    channels_last = IsTo(node, "channels_last");
  }
  return channels_last ? ChannelsLastOrder(rank) : RowMajorOrder(rank);
}

bool SameBytes(const std::vector<Expr>& shape, const std::vector<int>& a,
               const std::vector<int>& b) {
  auto without_ones = [&](std::vector<int> order) {
    std::erase_if(order, [&](int dim) { return IsConstant(shape[dim], 1); });
    return order;
  };
  return without_ones(a) == without_ones(b);
}

}  // namespace tcc
