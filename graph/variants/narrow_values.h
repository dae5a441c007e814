#pragma once

#include <span>

#include "graph/ops/node_lowering.h"
#include "graph/variants/task.h"

namespace tcc {

// Returns the values that are stored in the mode's type, because every reader rounds each element
// to it: as a whole factor of contractions that the mode rounds (RoundsAllOf). Results stay the
// same bit for bit. Values that view or move the elements of one another, as parts of an aliased
// whole do, are narrow together or not at all.
//
// Only values of f32 that one kernel computes are narrow, and no inputs or outputs of the graph, no
// values of bodies or that a Loop or If reads or computes. Expects subgraphs as FuseGraph makes
// them. Returns nothing for modes without a type.
StoredTypes NarrowValues(const Graph& graph, std::span<const Subgraph> subgraphs,
                         const NumericOptions& numeric);

// Makes the program load and store values in these types: loads are widened, stored values are
// rounded.
void AccessAs(const StoredTypes& types, LoweredNode& lowered);

}  // namespace tcc
