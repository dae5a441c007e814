#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ir/support/status.h"
#include "models/onnx.pb.h"

namespace tcc {

// The nodes' indices so that each comes after the nodes it reads; of those that could be next, the
// first in the file. `defined` names the graph's inputs and initializers.
//
// Refused, each with the node's name: a value that is defined twice or not at all, a cycle.
StatusOr<std::vector<int>> TopologicalOrder(const onnxpb::Graph& graph,
                                            const std::unordered_set<std::string>& defined);

}  // namespace tcc
