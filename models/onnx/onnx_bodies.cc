#include "models/onnx/onnx_bodies.h"

#include "ir/graph/graph_bodies.h"
#include "models/onnx/onnx_attributes.h"
#include "models/onnx/onnx_liveness.h"

namespace tcc {
namespace {

std::set<std::string> OwnNames(const onnxpb::Graph& graph) {
  std::set<std::string> names;
  for (const onnxpb::ValueInfo& input : graph.input()) names.insert(input.name());
  for (const onnxpb::Tensor& tensor : graph.initializer()) names.insert(tensor.name());
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

std::vector<std::string> NamesRead(const onnxpb::Node& node, const OnnxBodies& bodies) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  for (const OnnxBody& body : bodies) {
    names.insert(names.end(), body.outer_names.begin(), body.outer_names.end());
  }
  return names;
}

}  // namespace tcc
