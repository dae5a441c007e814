#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace tcc {

// Evaluates a DequantizeLinear over constants natively: quantized weights have more elements than
// the interpreter handles in reasonable time. nullopt for other nodes. Expects a node that lowers.
std::optional<Tensor> DequantizedConstant(const Graph& graph, const Node& node);

}  // namespace tcc
