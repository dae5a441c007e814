#include "models/onnx/onnx_liveness.h"

#include <algorithm>
#include <unordered_map>

namespace tcc {

OnnxLiveness FindLive(const google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
                      const std::vector<OnnxBodies>& bodies,
                      const std::vector<std::string>& results) {
  OnnxLiveness live;
  live.nodes.resize(nodes.size(), false);
  std::vector<int> pending;
  auto need = [&](int node) {
    if (live.nodes[node]) return;
    live.nodes[node] = true;
    pending.push_back(node);
  };
  std::unordered_map<std::string, int> producers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].output()) {
      if (!output.empty()) producers.emplace(output, i);
    }
    const auto& outputs = nodes[i].output();
    if (std::all_of(outputs.begin(), outputs.end(), [](const auto& name) { return name.empty(); }))
      need(i);
  }
  auto read = [&](const std::string& name) {
    if (name.empty() || !live.names.insert(name).second) return;
    if (auto producer = producers.find(name); producer != producers.end()) need(producer->second);
  };
  for (const std::string& result : results) read(result);
  while (!pending.empty()) {
    int node = pending.back();
    pending.pop_back();
    for (const std::string& name : NamesRead(nodes[node], bodies[node])) read(name);
  }
  return live;
}

OnnxLiveness FindLive(const onnxpb::Graph& graph, const std::vector<OnnxBodies>& bodies) {
  std::vector<std::string> results;
  for (const onnxpb::ValueInfo& output : graph.output()) results.push_back(output.name());
  return FindLive(graph.node(), bodies, results);
}

}  // namespace tcc
