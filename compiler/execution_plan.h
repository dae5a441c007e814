#pragma once

#include "compiler/kernels.h"
#include "compiler/plan_buffers.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// What an artefact needs to run a graph: the plan, and the constants that its kernels read.
struct ExecutionPlan {
  Plan plan;
  SharedBytes weights;
  std::vector<PreparedWeight> prepared;  // parts of `weights` that are zeros until they are made
  int64_t activation_bytes = 0;          // of all arena buffers, without reuse
};

// One Call a kernel in the order of the subgraphs, a Loop or If with the Calls of its bodies for a
// node that has some; activations share one arena by their lifetimes, views are the buffers they
// look at, a result is written in place where its producer can: graph outputs, carried values, the
// slices that a Loop stacks. What a kernel reads or writes starts where the target's kernels expect
// buffers to. Expects static shapes.
StatusOr<ExecutionPlan> BuildExecutionPlan(const Graph& graph,
                                           const std::vector<Subgraph>& subgraphs,
                                           const KernelSet& kernels, const Target& target);

}  // namespace tcc
