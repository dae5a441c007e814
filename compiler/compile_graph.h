#pragma once

#include "compiler/compile_options.h"
#include "ir/graph/graph.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// The whole way from a network to what runs it: graph passes, fusion, schedules, lowering, code,
// plan. Deterministic: the same graph and target give the same bytes.
StatusOr<Artefact> CompileGraph(Graph graph, const CompileOptions& options);

// Unimplemented where inputs have dimensions that nobody has bound, all of which the message names:
// kernels are made for one size.
Status ExpectBoundInputs(const Graph& graph);

}  // namespace tcc
