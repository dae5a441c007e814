#pragma once

#include <string>
#include <vector>

#include "ir/function.h"
#include "lower/graph/fuse_graph.h"

namespace tcc {

// One kernel's worth of work: what a schedule is found for.
struct Task {
  std::string name;
  // Equivalent kTensor functions; their parameters are `inputs`, then `outputs`.
  std::vector<Function> variants;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::string> nodes;  // names of the fused nodes
  // Floating-point operations of the direct variant, padding counted: a multiply-add is two. 0
  // where a dimension is symbolic.
  double flops = 0;
};

// Expects a subgraph of kind kKernel.
StatusOr<Task> BuildTask(const Graph& graph, const Subgraph& subgraph);

}  // namespace tcc
