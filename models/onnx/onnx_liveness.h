#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "models/onnx/onnx_bodies.h"

namespace tcc {

// What a graph's results need. The other nodes are not read: an operator that tcc does not have
// matters only where somebody wants what it gives.
struct OnnxLiveness {
  std::vector<bool> nodes;                // by index; a node without any output counts as needed
  std::unordered_set<std::string> names;  // the results, and what needed nodes read
};
OnnxLiveness FindLive(const google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
                      const std::vector<OnnxBodies>& bodies,
                      const std::vector<std::string>& results);

// Of a graph with these bodies.
OnnxLiveness FindLive(const onnxpb::Graph& graph, const std::vector<OnnxBodies>& bodies);

}  // namespace tcc
