#include "models/onnx/onnx_order.h"

#include <queue>
#include <unordered_map>

#include "models/onnx/onnx_attributes.h"

namespace tcc {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnxpb::Node>;
using Producers = std::unordered_map<std::string, int>;

std::string Where(const onnxpb::Node& node) {
  return fmt::format("node '{}' ({})", NodeName(node), OperatorName(node));
}

StatusOr<Producers> FindProducers(const Nodes& nodes, const OnnxNames& names) {
  Producers producers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) {
      if (output.empty()) continue;
      if (names.is_own(output) || !producers.emplace(output, i).second) {
        return InvalidInput("{}: value '{}' is defined twice", Where(nodes[i]), output);
      }
    }
  }
  return producers;
}

// Every node that was not placed reads one that was not either, so going back that way must close.
Status Cycle(const Nodes& nodes, const std::vector<OnnxBodies>& bodies, const Producers& producers,
             const std::vector<bool>& placed) {
  std::vector<bool> seen(placed.size(), false);
  int at = 0;
  while (placed[at]) ++at;
  while (!seen[at]) {
    seen[at] = true;
    for (const std::string& input : NamesRead(nodes[at], bodies[at])) {
      auto producer = producers.find(input);
      if (producer == producers.end() || placed[producer->second]) continue;
      at = producer->second;
      break;
    }
  }
  return InvalidInput("{} depends on its own result: the graph has a cycle", Where(nodes[at]));
}

}  // namespace

StatusOr<std::vector<int>> TopologicalOrder(const Nodes& nodes,
                                            const std::vector<OnnxBodies>& bodies,
                                            const OnnxLiveness& live, const OnnxNames& names) {
  TCC_ASSIGN_OR_RETURN(Producers producers, FindProducers(nodes, names));
  auto count = static_cast<size_t>(nodes.size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waits_for(count, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : NamesRead(nodes[i], bodies[i])) {
      if (input.empty()) continue;
      auto producer = producers.find(input);
      if (producer == producers.end()) {
        if (!live.nodes[i] || names.is_known(input)) continue;
        return InvalidInput("{}: input '{}' is not defined", Where(nodes[i]), input);
      }
      readers[producer->second].push_back(i);
      ++waits_for[i];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<int> order;
  std::vector<bool> placed(count, false);
  while (!ready.empty()) {
    int node = ready.top();
    ready.pop();
    placed[node] = true;
    order.push_back(node);
    for (int reader : readers[node]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() < count) return Cycle(nodes, bodies, producers, placed);
  return order;
}

}  // namespace tcc
