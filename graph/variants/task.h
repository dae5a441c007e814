#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/passes/fuse_graph.h"
#include "ir/expr/function.h"
#include "support/numeric_mode.h"

namespace tcc {

// A kernel's worth of work: the unit that a schedule is found for.
struct Task {
  std::string name;
  // Equivalent kTensor functions. The direct one comes first, then those that compute it in another
  // way, if there are any: attention as one reduction, Winograd's convolution in tiles of 2x2 and
  // of 4x4, the convolution of a padded input, a window reduced in one dimension after the other,
  // implicit GEMM, a reduction in two stages, a product whose rows were several dimensions, one of
  // widened operands, products of bytes in pairs and in quads, of bf16 in pairs, and of either in
  // whole tiles. A schedule names its variant. Their parameters are `inputs`, then `outputs`.
  // Inputs that are constants of the graph have the scope kConstant.
  std::vector<Function> variants;
  size_t zero_padded = 0;    // the variant that convolves a zero-padded input; 0: none
  size_t separable = 0;      // the variant that reduces a window dimension by dimension; 0: none
  size_t winograd = 0;       // the fastest one by Winograd's transforms, if it saves time; 0: none
  size_t merged = 0;         // the variant that is a product over merged dimensions; 0: none
  size_t widened = 0;        // the variant that widens 16-bit operands before its products; 0: none
  size_t integer_pairs = 0;  // the variant that multiplies bytes two at a time; 0: none
  size_t integer_quads = 0;  // the variant that multiplies bytes four at a time; 0: none
  size_t bfloat_pairs = 0;   // the variant that multiplies bf16 two at a time; 0: none
  size_t whole_tiles = 0;    // the variant that multiplies words in whole tiles; 0: none
  bool tiles_save_time = false;  // whether that is expected to take less time than words in vectors
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::string> nodes;  // the names of the fused nodes
  // The floating-point operations of the direct variant, padding included: a multiply-add counts as
  // two. 0 if a dimension is symbolic.
  double flops = 0;
  // The bytes of the input and output elements that one call of the direct variant reads or
  // writes, each counted once; nullopt if a dimension is symbolic.
  std::optional<int64_t> moved_bytes = {};
  NumericMode numeric = NumericMode::kStrict;  // the mode that some operand is rounded by
  // Whether a contraction of f32 ignores the requested rounding: attention, MatMulWords.
  bool stays_strict = false;
};

// A value without memory of its own, which aliases a part of another one.
struct AliasedPart {
  ValueId whole = kNoValue;
  int64_t offset = 0;  // in bytes, from the start of `whole`
  int64_t bytes = 0;   // from its first element to its last
  // The strides of each stored dimension, in elements; empty for one run of bytes.
  std::vector<int64_t> strides = {};
};
using AliasedParts = std::map<ValueId, AliasedPart>;

// Builds the task of a subgraph of kind kKernel. Parameters for `parts` have the strides stated
// there. Operands of contractions are rounded as `numeric` says (variants.h), in every
// variant. Winograd's variants exist under strict alone, since their transforms would amplify
// rounding errors, and where `winograd` allows it.
StatusOr<Task> BuildTask(const Graph& graph, const Subgraph& subgraph,
                         const AliasedParts& parts = {}, NumericMode numeric = NumericMode::kStrict,
                         bool winograd = true);

}  // namespace tcc
