#pragma once

#include "compiler/kernels.h"
#include "compiler/plan_buffers.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// The part of an artefact that runs a graph: the plan, and the constants that its kernels read.
struct ExecutionPlan {
  Plan plan;
  SharedBytes weights;
  std::vector<PreparedWeight> prepared;  // parts of `weights`, zero until computed
  int64_t activation_bytes = 0;          // the sum of all arena buffers, without reuse
};

// Builds the plan: one Call per kernel in the order of the subgraphs, and a Loop or If with the
// Calls of its bodies for a node with bodies. Activations share one arena by their live ranges, and
// views alias their buffers. A producer writes graph outputs, carried values and the slices that a
// Loop stacks in place where it can. Every buffer that a kernel accesses has the alignment that the
// target's kernels expect. Expects static shapes.
StatusOr<ExecutionPlan> BuildExecutionPlan(const Graph& graph,
                                           const std::vector<Subgraph>& subgraphs,
                                           const KernelSet& kernels, const Target& target);

}  // namespace tcc
