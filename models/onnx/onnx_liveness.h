#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "models/onnx/onnx_bodies.h"

namespace tcc {

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
