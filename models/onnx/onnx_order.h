#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/onnx/onnx_bodies.h"
#include "models/onnx/onnx_liveness.h"
#include "support/status.h"

namespace tcc {

// The nodes' indices so that each comes after the nodes it reads, in its bodies too; of those that
// could be next, the first in the file. `is_own` tells inputs and initializers of the nodes' graph,
// `is_known` those and what can be seen of the graphs around.
//
// Refused, each with the node's name: a value that is defined twice, one that a live node reads and
// nobody defines, a cycle.
struct OnnxNames {
  std::function<bool(const std::string&)> is_own;
  std::function<bool(const std::string&)> is_known;
};
StatusOr<std::vector<int>> TopologicalOrder(
    const google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
    const std::vector<OnnxBodies>& bodies, const OnnxLiveness& live, const OnnxNames& names);

}  // namespace tcc
