#include <map>

#include "graph/passes/edit.h"
#include "graph/passes/passes.h"

namespace tcc {

Status TransposeGemmWeights(Graph& graph) {
  std::map<ValueId, ValueId> transposed;  // two nodes may share a weight
  for (Node& node : graph.nodes) {
    if (node.op != OpKind::kGemm || node.Int("transB", 0) == 0) continue;
    ValueId weight = node.inputs[1];
    if (!graph.ConstantOf(weight)) continue;
    auto [entry, absent] = transposed.emplace(weight, kNoValue);
    if (absent) {
      Tensor tensor = TransposedTensor(*graph.ConstantOf(weight), {1, 0});
      entry->second = AddConstant(graph, graph.value(weight).name + ".transposed", tensor);
    }
    node.inputs[1] = entry->second;
    node.attributes["transB"] = int64_t{0};
  }
  return RemoveDead(graph);
}

}  // namespace tcc
