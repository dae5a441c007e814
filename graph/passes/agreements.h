#pragma once

#include <vector>

#include "ir/expr/substitute.h"
#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

// Replaces Shape variables in all shapes, elements and agreements of the graph and its bodies, and
// drops them from its variables. Elements that become numbers become constants, without nodes.
void SubstituteDims(Graph& graph, const Substitution& values);

// Infers shapes and gives every Shape variable its usual value, so that all extents are numbers.
// Fails as InferShapes does, and with InvalidArgument where the usual values do not agree.
Status BindAtUsual(Graph& graph);

// Adds agreements to a graph. One that settles a variable replaces it everywhere, so that an
// input's dimension may become a formula; another one stays, its shorter formula first, which
// replaces the other one where that is a whole dimension. Returns the variables that were replaced;
// InvalidArgument, with where they meet, for extents that are then never equal.
StatusOr<Substitution> AddAgreements(Graph& graph, const std::vector<Agreement>& agreements);

}  // namespace tcc
