#pragma once

#include <vector>

#include "graph/ops/node_lowering.h"

namespace tcc {

// Returns the shape that operands of these shapes broadcast to (numpy): aligned at the right, a
// dimension of 1 stretches. InvalidArgument where two dimensions differ and neither is 1.
StatusOr<std::vector<Expr>> BroadcastShapes(const NodeLowering& node,
                                            const std::vector<std::vector<Expr>>& shapes);

}  // namespace tcc
