#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/onnx/onnx_bodies.h"
#include "models/onnx/onnx_liveness.h"
#include "support/status.h"

namespace tcc {

// The names visible to a graph's nodes. `is_own` holds for inputs and initializers of that graph,
// `is_known` also for names visible from the enclosing graphs.
//
// TopologicalOrder returns the live nodes' indices so that each node comes after the nodes it
// reads, in its bodies too; among the ready nodes, the first in the file comes next.
//
// Refused, each with the node's name: a value that is defined twice, a value that a live node reads
// but nothing defines, a cycle.
struct OnnxNames {
  std::function<bool(const std::string&)> is_own;
  std::function<bool(const std::string&)> is_known;
};
StatusOr<std::vector<int>> TopologicalOrder(
    const google::protobuf::RepeatedPtrField<onnxpb::Node>& nodes,
    const std::vector<OnnxBodies>& bodies, const OnnxLiveness& live, const OnnxNames& names);

}  // namespace tcc
