#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// A condition on the Shape variables of a graph under which it computes what the model says.
struct ShapeCheck {
  Expr holds;
  std::string message;  // for a run whose inputs break it
};

// Returns what a run of the graph has to check of its sizes: the agreements of shape inference,
// and that no extent is negative. Bodies are part of it.
std::vector<ShapeCheck> ShapeChecksOf(const Graph& graph);

}  // namespace tcc
