#pragma once

#include "compiler/kernels.h"
#include "compiler/plan_buffers.h"
#include "compiler/sized_model.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// A body of a node of the graph around it.
struct BodyPlace {
  size_t node = 0;
  size_t body = 0;

  friend bool operator==(const BodyPlace&, const BodyPlace&) = default;
};

// A Call of the plan. Steps count instructions; a body's come before the instruction that owns it.
struct PlannedCall {
  uint32_t kernel = 0;
  size_t task = 0;
  size_t graph = 0;  // among the plan's, one for each size
  int64_t step = 0;
  std::vector<BodyPlace> within;  // from the outside in; empty for the graph itself
  // Whether the call writes all of its outputs; if not, other calls have written the rest before.
  bool writes_all = true;
};

// A value in the arena, at the usual sizes where they are free.
struct ArenaValue {
  std::string name;
  int64_t offset = 0, bytes = 0;
  int64_t first = 0, last = 0;  // the steps between which it is live

  friend bool operator==(const ArenaValue&, const ArenaValue&) = default;
};

// The part of an artefact that runs a graph: the plan, and the constants that its kernels read.
struct ExecutionPlan {
  Plan plan;
  std::vector<PlannedCall> calls;  // in the order of the plan, a body's at its instruction
  std::vector<std::vector<ArenaValue>> arena;  // by graph
  SharedBytes weights;
  std::vector<PreparedWeight> prepared;  // parts of `weights`, zero until computed
  int64_t activation_bytes = 0;          // the sum of all arena buffers, without reuse; as usual
};

// Builds the plan: one Call per kernel in the order of the subgraphs, and a Loop or If with the
// Calls of its bodies for a node with bodies. Activations share one arena by their live ranges, and
// views alias their buffers. A producer writes graph outputs, carried values and the slices that a
// Loop stacks in place where it can. Every buffer that a kernel accesses has the alignment that the
// target's kernels expect. Sizes that the inputs' free dimensions decide are formulas. The plan
// checks what shape inference took for granted, and calls no kernel for an empty result.
//
// The graphs are as in SizedModel; with listed sizes the plan switches between them. Error:
// Unimplemented, naming the value, where the inputs' dimensions do not decide its size.
StatusOr<ExecutionPlan> BuildExecutionPlan(std::span<const FusedGraph> graphs,
                                           const ListedSizes& listed, const KernelSet& kernels,
                                           const Target& target);

}  // namespace tcc
