#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/passes/fuse_graph.h"
#include "ir/expr/function.h"
#include "support/numeric_mode.h"

namespace tcc {

// One kernel's worth of work: what a schedule is found for.
struct Task {
  std::string name;
  // Equivalent kTensor functions, the direct one first, then those that compute it another way, as
  // far as there are such: attention as one reduction, Winograd's convolution, one of a
  // padded input, a window reduced in one dimension after the other, implicit GEMM, a reduction in
  // two stages, a product whose rows were several dimensions. A schedule names the one that it is
  // for. Their parameters are `inputs`, then `outputs`. Inputs that are constants of the graph have
  // the scope kConstant.
  std::vector<Function> variants;
  size_t zero_padded = 0;  // which one is the convolution of a zero-padded input; 0: none
  size_t separable = 0;    // which one reduces a window dimension by dimension; 0: none
  size_t merged = 0;       // which one is a product over merged dimensions; 0: none
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::string> nodes;  // names of the fused nodes
  // Floating-point operations of the direct variant, padding counted: a multiply-add is two. 0
  // where a dimension is symbolic.
  double flops = 0;
  // Of the direct variant (moved_bytes.h).
  std::optional<int64_t> moved_bytes = {};
  NumericMode numeric = NumericMode::kStrict;  // by which some operand is rounded
  // A contraction of f32 that does not round as it was asked to: the core of attention.
  bool stays_strict = false;
};

// A value without memory of its own: it lies inside another's.
struct PlacedPart {
  ValueId whole = kNoValue;
  int64_t offset = 0;  // in bytes, from where `whole` starts
  int64_t bytes = 0;   // from the first of its elements to the last
  // In elements, of each dimension as it is stored, where its rows do not follow each other; empty
  // for one run of bytes.
  std::vector<int64_t> strides = {};
};
using PlacedParts = std::map<ValueId, PlacedPart>;

// Expects a subgraph of kind kKernel. Parameters for `parts` have the strides stated there.
// Operands of contractions are rounded as `numeric` says (round_operands.h), in every variant;
// Winograd's, whose transforms would grow their errors, is there under strict alone.
StatusOr<Task> BuildTask(const Graph& graph, const Subgraph& subgraph,
                         const PlacedParts& parts = {}, NumericMode numeric = NumericMode::kStrict);

}  // namespace tcc
