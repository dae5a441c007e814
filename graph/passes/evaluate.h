#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// Evaluates a node's outputs (an empty tensor for one that is left out) by interpreting its
// lowering. Expects known shapes, and constant operands except where the operator reads only a
// shape. ResourceExhausted if the outputs take more than `max_bytes` or the work more than
// `max_instances` block instances.
struct EvaluationLimits {
  int64_t max_bytes = int64_t{1} << 20;
  int64_t max_instances = int64_t{1} << 22;
  int64_t* issued = nullptr;  // incremented by the instances of the work, even on failure
};
StatusOr<std::vector<Tensor>> EvaluateNode(const Graph& graph, const Node& node,
                                           const EvaluationLimits& limits);

// Returns whether everything that the node's value depends on is known: its operands are constants,
// or it reads only a shape without symbolic dimensions. False if operands are stored in another
// order than constants.
bool IsComputable(const Graph& graph, const Node& node);

}  // namespace tcc
