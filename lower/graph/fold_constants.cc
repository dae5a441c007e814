#include "lower/graph/evaluate.h"
#include "lower/graph/passes.h"

namespace tcc {
namespace {

// A constant that grows the artefact, or takes the interpreter seconds, is better computed at run
// time, or was meant as a bomb.
constexpr EvaluationLimits kNodeLimits = {.max_bytes = int64_t{64} << 20,
                                          .max_instances = int64_t{1} << 22};
constexpr int64_t kTotalBytes = int64_t{256} << 20;

int64_t BytesOf(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.bytes.size());
  return bytes;
}

}  // namespace

Status FoldConstants(Graph& graph) {
  int64_t budget = kTotalBytes;
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    if (!IsComputable(graph, node)) {
      kept.push_back(std::move(node));
      continue;
    }
    EvaluationLimits limits = kNodeLimits;
    limits.max_bytes = std::min(limits.max_bytes, budget);
    StatusOr<std::vector<Tensor>> results = EvaluateNode(graph, node, limits);
    if (results.status().code() == absl::StatusCode::kResourceExhausted) {
      kept.push_back(std::move(node));
      continue;
    }
    if (!results.ok()) return results.status();
    budget -= BytesOf(*results);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kNoValue) graph.values[node.outputs[i]].constant = (*results)[i];
    }
  }
  graph.nodes = std::move(kept);
  return OkStatus();
}

}  // namespace tcc
