#pragma once

#include <optional>

#include "ir/graph/graph.h"

namespace tcc {

// What a DequantizeLinear over constants gives, element by element: quantized weights have more
// elements than the interpreter does in reasonable time. nullopt for other nodes. Expects the node
// to be valid, as lowering it tells.
std::optional<Tensor> DequantizedConstant(const Graph& graph, const Node& node);

}  // namespace tcc
