#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// Returns the shapes that a model declares for its outputs; {} for an output without one. Programs
// that edit models often leave stale shapes behind.
std::vector<std::vector<Expr>> DeclaredShapes(const Graph& graph);

// Returns a message for each output of the graph whose inferred shape contradicts the declared one.
// `names` are the model's. A dimension known on one side only is no contradiction.
std::vector<std::string> ContradictedShapes(const Graph& graph,
                                            const std::vector<std::string>& names,
                                            const std::vector<std::vector<Expr>>& declared);

}  // namespace tcc
