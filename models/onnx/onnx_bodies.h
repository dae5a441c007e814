#pragma once

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "models/onnx/onnx.pb.h"
#include "support/status.h"

namespace tcc {

struct OnnxBody;
using OnnxBodies = std::vector<OnnxBody>;  // of one node

// A graph that is an attribute, parsed once with all graphs nested in it.
struct OnnxBody {
  std::string attribute;  // "then_branch"
  onnxpb::Graph graph;
  std::vector<OnnxBodies> of_nodes;   // of graph.node(i)
  std::set<std::string> outer_names;  // names that its results need from enclosing graphs
};

// Moves the graphs out of the nodes' attributes. Refuses an invalid message, and nesting beyond
// kMaxBodyDepth, where `depth` bodies enclose the nodes already.
StatusOr<std::vector<OnnxBodies>> ParseBodies(
    google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes, int depth);

// Returns the names of a graph's initializers, dense ones first.
std::vector<std::string> InitializerNames(const onnxpb::Graph& graph);

// Returns the names that a node reads: its inputs, "" for omitted ones, and the names that its
// bodies read from the enclosing graphs.
std::vector<std::string> NamesRead(const onnxpb::Node& node, const OnnxBodies& bodies);

// The nodes and names that a graph's results need. Other nodes are not read: an unsupported
// operator matters only if its result is needed.
struct OnnxLiveness {
  std::vector<bool> nodes;                // by index; a node without any output counts as needed
  std::unordered_set<std::string> names;  // the results, and names read by needed nodes
};
OnnxLiveness FindLive(const google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
                      const std::vector<OnnxBodies>& bodies,
                      const std::vector<std::string>& results);

// Finds the live nodes and names of a graph with these bodies.
OnnxLiveness FindLive(const onnxpb::Graph& graph, const std::vector<OnnxBodies>& bodies);

}  // namespace tcc
