#pragma once

#include <set>
#include <string>
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

// Returns the names that a node reads: its inputs, "" for omitted ones, and the names that its
// bodies read from the enclosing graphs.
std::vector<std::string> NamesRead(const onnxpb::Node& node, const OnnxBodies& bodies);

}  // namespace tcc
