#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// The values of a node's outputs (an empty tensor for one that is left out), by interpreting what
// it lowers to. Expects shapes that are known and operands that are constants, but for operators
// that read only a shape. ResourceExhausted if the outputs take more than `max_bytes` or the work
// more than `max_instances` block instances.
struct EvaluationLimits {
  int64_t max_bytes = int64_t{1} << 20;
  int64_t max_instances = int64_t{1} << 22;
  int64_t* issued = nullptr;  // gets the instances added that the work took, in vain or not
};
StatusOr<std::vector<Tensor>> EvaluateNode(const Graph& graph, const Node& node,
                                           const EvaluationLimits& limits);

// Whether everything that the node's value depends on is known: its operands are constants, or it
// asks only for a shape that has no symbolic dimension. Not where operands are stored in another
// order than constants are.
bool IsComputable(const Graph& graph, const Node& node);

}  // namespace tcc
