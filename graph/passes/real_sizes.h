#pragma once

#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// Returns the elements of an f32 or f64 tensor cast to integers, as formulas over Shape variables:
// what exporters write for half an image, Cast(Floor(Cast(H, f32) * 0.5), i64). Empty where one is
// unknown.
std::vector<Expr> WholeSizes(const Graph& graph, ValueId reals);

}  // namespace tcc
