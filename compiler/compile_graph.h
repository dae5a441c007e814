#pragma once

#include "compiler/compile_options.h"
#include "compiler/sized_model.h"
#include "ir/graph/graph.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// Compiles a network: graph passes, fusion, schedules, lowering, code, plan. The result is
// deterministic: the same graph and target give the same bytes.
StatusOr<Artefact> CompileGraph(Graph graph, const CompileOptions& options);

// Compiles a model at all of its listed sizes into one artefact: kernels and constants that are
// equal are there once. A run takes the graph for the size of its inputs. Dimensions may be free
// except where sizes are listed without a graph for all others.
StatusOr<Artefact> CompileModel(SizedModel model, const CompileOptions& options);

}  // namespace tcc
