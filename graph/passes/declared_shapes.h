#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// The shapes that a model states for its outputs; {} for one that it says nothing about. Programs
// that edit models often leave old ones behind.
std::vector<std::vector<Expr>> DeclaredShapes(const Graph& graph);

// A line for each output of the graph, whose shapes are inferred by now, that was declared with
// another shape. `names` are the model's. A dimension known on one side only is no contradiction.
std::vector<std::string> ContradictedShapes(const Graph& graph,
                                            const std::vector<std::string>& names,
                                            const std::vector<std::vector<Expr>>& declared);

}  // namespace tcc
