#pragma once

#include <set>
#include <string>
#include <vector>

#include "models/onnx/onnx.pb.h"
#include "support/status.h"

namespace tcc {

struct OnnxBody;
using OnnxBodies = std::vector<OnnxBody>;  // of one node

// A graph that is an attribute, parsed once with all that lies in it.
struct OnnxBody {
  std::string attribute;  // "then_branch"
  onnxpb::Graph graph;
  std::vector<OnnxBodies> of_nodes;   // of graph.node(i)
  std::set<std::string> outer_names;  // what its results need of the graphs around
};

// Takes the graphs out of the nodes' attributes. Refuses one that is no valid message and, `depth`
// bodies being around already, nesting beyond kMaxBodyDepth.
StatusOr<std::vector<OnnxBodies>> ParseBodies(
    google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes, int depth);

// What a node reads: its inputs, and what its bodies read of the graphs around them. "" for inputs
// left out.
std::vector<std::string> NamesRead(const onnxpb::Node& node, const OnnxBodies& bodies);

}  // namespace tcc
