#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "graph/passes/node_writer.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

// Each output is a nest of one kernel, and what compiles a kernel takes a time that grows with the
// square of its nests.
constexpr size_t kMaxParts = 128;

// The extents of the node's parts along `axis`; nothing where one of them is not known or not read.
std::optional<std::vector<int64_t>> PartsOf(const Graph& graph, const Node& node, size_t axis) {
  std::vector<int64_t> parts;
  for (ValueId output : node.outputs) {
    if (output == kNoValue) return std::nullopt;
    std::optional<int64_t> part = AsConstant(graph.value(output).shape[axis]);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  return parts;
}

// A Slice for each kMaxParts outputs and a Split of that.
bool Cut(Graph& graph, const Node& node, std::vector<Node>& nodes) {
  int64_t given = node.Int("axis", 0);
  auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).shape.size());
  int64_t axis = given < 0 ? given + rank : given;
  auto parts = PartsOf(graph, node, static_cast<size_t>(axis));
  if (!parts) return false;
  int64_t begin = 0;
  for (size_t first = 0; first < parts->size(); first += kMaxParts) {
    size_t last = std::min(first + kMaxParts, parts->size());
    std::vector<int64_t> extents(parts->begin() + first, parts->begin() + last);
    int64_t end = std::accumulate(extents.begin(), extents.end(), begin);
    NodeWriter writer(graph, nodes, fmt::format("{}/from{}", node.name, first));
    Node split;
    split.name = fmt::format("{}/from{}", node.name, first);
    split.op = OpKind::kSplit;
    ValueId slice = writer.Slice(node.inputs[0], axis, begin, end);
    graph.values[slice].shape = graph.value(node.inputs[0]).shape;
    graph.values[slice].shape[axis] = end - begin;
    split.inputs = {slice, writer.Ints(extents)};
    split.outputs.assign(node.outputs.begin() + first, node.outputs.begin() + last);
    split.attributes = {{"axis", axis}};
    writer.EmitNode(split);
    begin = end;
  }
  return true;
}

}  // namespace

Status CutSplits(Graph& graph) {
  std::vector<Node> nodes;
  for (const Node& node : graph.nodes) {
    bool is_wide = node.op == OpKind::kSplit && node.outputs.size() > kMaxParts;
    if (!is_wide || !Cut(graph, node, nodes)) nodes.push_back(node);
  }
  graph.nodes = std::move(nodes);
  return OkStatus();
}

}  // namespace tcc
