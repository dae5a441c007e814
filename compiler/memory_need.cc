#include "compiler/memory_need.h"

#include <algorithm>
#include <set>

#include "ir/expr/evaluate.h"
#include "runtime/executor/available_memory.h"

namespace tcc {
namespace {

int64_t Sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t BytesOf(const Value& value) {
  std::vector<int64_t> shape;
  for (const Expr& extent : value.shape) shape.push_back(AtUsual(extent).value_or(0));
  return ByteCount(value.dtype, shape).value_or(INT64_MAX);
}

}  // namespace

MemoryNeed MemoryNeedOf(const Graph& graph) {
  MemoryNeed need;
  std::set<ValueId> interface(graph.inputs.begin(), graph.inputs.end());
  interface.insert(graph.outputs.begin(), graph.outputs.end());
  for (ValueId id : interface) need.interface = Sum(need.interface, BytesOf(graph.value(id)));
  std::set<ValueId> weights;
  int64_t largest = 0;
  for (const Node& node : graph.nodes) {
    std::set<ValueId> values(node.inputs.begin(), node.inputs.end());
    values.insert(node.outputs.begin(), node.outputs.end());
    int64_t bytes = 0;
    int64_t inside = 0;  // the bytes of values that are no weight, input or output
    for (ValueId id : values) {
      if (id == kNoValue) continue;
      int64_t size = BytesOf(graph.value(id));
      bytes = Sum(bytes, size);
      if (interface.contains(id)) continue;
      if (graph.ConstantOf(id) != nullptr) {
        weights.insert(id);
      } else {
        inside = Sum(inside, size);
      }
    }
    need.node = std::max(need.node, inside);
    if (bytes <= largest) continue;
    largest = bytes;
    need.largest = fmt::format("node '{}' ({})", node.name, ToString(node.op));
  }
  for (ValueId id : weights) need.weights = Sum(need.weights, BytesOf(graph.value(id)));
  return need;
}

Status CheckWeightMemory(const Graph& graph) {
  return CheckMemoryFor(MemoryNeedOf(graph).weights, "the weights");
}

Status CheckMemoryNeed(const Graph& graph, const Target& target) {
  // All else is in GPU memory, perhaps of another machine.
  if (target.kind == TargetKind::kGpu) return CheckWeightMemory(graph);
  MemoryNeed need = MemoryNeedOf(graph);
  int64_t total = Sum(Sum(need.weights, need.interface), need.node);
  std::string what = fmt::format("the model ({} of weights, {} of inputs and outputs, {} between",
                                 need.weights, need.interface, need.node);
  if (!need.largest.empty()) what += "; the most for " + need.largest;
  return CheckMemoryFor(total, what + ")");
}

}  // namespace tcc
