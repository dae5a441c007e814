#include "models/onnx/onnx_bodies.h"

#include <algorithm>
#include <unordered_map>

#include "ir/graph/graph_bodies.h"
#include "models/onnx/onnx_attributes.h"

namespace tcc {
namespace {

std::set<std::string> OwnNames(const onnxpb::Graph& graph) {
  std::set<std::string> names;
  for (const onnxpb::ValueInfo& input : graph.input()) names.insert(input.name());
  for (const std::string& name : InitializerNames(graph)) names.insert(name);
  for (const onnxpb::Node& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
  }
  return names;
}

std::set<std::string> OuterNames(const OnnxBody& body) {
  std::set<std::string> own = OwnNames(body.graph);
  std::set<std::string> outer;
  for (const std::string& name : FindLive(body.graph, body.of_nodes).names) {
    if (!own.contains(name)) outer.insert(name);
  }
  return outer;
}

StatusOr<OnnxBody> ParseBody(onnxpb::Attribute& attribute, int depth) {
  OnnxBody body;
  body.attribute = attribute.name();
  if (!body.graph.ParseFromString(attribute.g())) {
    return InvalidInput("attribute '{}' is not a valid graph", attribute.name());
  }
  attribute.clear_g();
  TCC_ASSIGN_OR_RETURN(body.of_nodes, ParseBodies(*body.graph.mutable_node(), depth + 1));
  body.outer_names = OuterNames(body);
  return body;
}

}  // namespace

StatusOr<std::vector<OnnxBodies>> ParseBodies(
    google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes, int depth) {
  std::vector<OnnxBodies> bodies(nodes.size());
  for (int n = 0; n < nodes.size(); ++n) {
    auto& attributes = *nodes[n].mutable_attribute();
    for (int a = 0; a < attributes.size();) {
      if (!attributes[a].has_g()) {
        ++a;
        continue;
      }
      std::string where = fmt::format("node '{}' ({})", NodeName(nodes[n]), OperatorName(nodes[n]));
      if (depth >= kMaxBodyDepth) {
        return InvalidInput("{}: subgraphs are nested more than {} deep", where, kMaxBodyDepth);
      }
      StatusOr<OnnxBody> body = ParseBody(attributes[a], depth);
      if (!body.ok()) return Annotate(body.status(), where);
      bodies[n].push_back(std::move(*body));
      attributes.DeleteSubrange(a, 1);
    }
  }
  return bodies;
}

std::vector<std::string> InitializerNames(const onnxpb::Graph& graph) {
  std::vector<std::string> names;
  for (const onnxpb::Tensor& tensor : graph.initializer()) names.push_back(tensor.name());
  for (const onnxpb::SparseTensor& tensor : graph.sparse_initializer()) {
    names.push_back(tensor.values().name());
  }
  return names;
}

std::vector<std::string> NamesRead(const onnxpb::Node& node, const OnnxBodies& bodies) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  for (const OnnxBody& body : bodies) {
    names.insert(names.end(), body.outer_names.begin(), body.outer_names.end());
  }
  return names;
}

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
    if (std::ranges::all_of(outputs, [](const auto& name) { return name.empty(); })) need(i);
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
