#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/passes/fuse_graph.h"
#include "ir/expr/tensor_expr.h"
#include "support/numeric_mode.h"
#include "support/target.h"

namespace tcc {

struct VariantSource;

// A way to compute a program other than directly.
struct VariantRow {
  std::string_view name;
  // The place among a task's variants. A new row takes the next number, so that `variant N` of
  // schedules means what it did.
  int place;
  // Returns a program that computes the same, with operands rounded; nullopt if there is none.
  std::optional<TensorProgram> (*make)(const VariantSource& source);
  bool (*saves_time)(const VariantSource& source);
  bool (*needs)(const Target& target);  // whether the target has what the variant needs
  bool (*gains)(const Target& target);  // whether a variant that saves time does so there
  std::string_view why;
};

// Returns all rows in order of preference: default schedules are for the first that gains.
std::span<const VariantRow> VariantRows();

// A function that computes a task.
struct Variant {
  Function fn;
  const VariantRow* row = nullptr;  // nullptr: the direct one
  bool saves_time = true;
};

// A kernel's worth of work: the unit that a schedule is found for.
struct Task {
  std::string name;
  // Equivalent kTensor functions: the direct one, then those of VariantRows by their places. A
  // schedule names its variant. Their parameters are `inputs`, then `outputs`. Inputs that are
  // constants of the graph have the scope kConstant.
  std::vector<Variant> variants;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::string> nodes;  // the names of the fused nodes
  // The values of the variants' Shape variables, which are the same in each, over the graph's; and
  // the variables that the variants take for 1 or more although they may be 0 (own_shapes.h).
  std::vector<Expr> shape_arguments = {};
  std::vector<size_t> may_be_zero = {};
  // The same computation where some of `may_be_zero` are 0, over the other variables. Place p has
  // those at the set bits of p + 1. One without variants has nothing to compute.
  std::vector<Task> zero_cases = {};
  // The floating-point operations of the direct variant, padding included: a multiply-add counts as
  // two. At the usual sizes.
  double flops = 0;
  // The bytes of the input and output elements that one call of the direct variant reads or
  // writes at the usual sizes, each counted once; nullopt if these are unknown.
  std::optional<int64_t> moved_bytes = {};
  NumericMode numeric = NumericMode::kStrict;  // the mode that some operand is rounded by
  // Whether a contraction of f32 ignores the requested rounding: attention, MatMulWords.
  bool stays_strict = false;
};

// Returns the variant that the row of this name made; nullptr if there is none.
const Variant* FindVariant(const Task& task, std::string_view name);

// A value without memory of its own, which aliases a part of another one.
struct AliasedPart {
  ValueId whole = kNoValue;
  Expr offset = 0;  // in bytes, from the start of `whole`
  Expr bytes = 0;   // from its first element to its last
  // The strides of each stored dimension, in elements; empty for one run of bytes.
  std::vector<Expr> strides = {};
};
using AliasedParts = std::map<ValueId, AliasedPart>;

// The types that values are stored in, where these are not the graph's.
using StoredTypes = std::map<ValueId, DType>;

// How values are stored, where that is not as the graph says.
struct ValueStorage {
  AliasedParts parts = {};
  StoredTypes types = {};
};

// Returns the type that the value is stored in.
DType StorageType(const Graph& graph, const StoredTypes& types, ValueId id);

// The liberties that kernels may take with numbers.
struct NumericOptions {
  NumericMode mode = NumericMode::kStrict;
  // The modes of 16 bits hold for the products of an attention's core, too.
  bool rounds_attention = false;
  bool winograd = true;  // Winograd's transforms are allowed
};

// Returns the mode by which operands of the subgraph are rounded: kStrict if it has none to round,
// or if its kernel ignores the requested one.
NumericMode ModeFor(const Graph& graph, const Subgraph& subgraph, const NumericOptions& requested);

// Builds the task of a subgraph of kind kKernel. Parameters have the strides and types that
// `storage` states. Operands of contractions are rounded as the mode says (variants.h), in every
// variant. Winograd's variants exist under strict alone, since their transforms would amplify
// rounding errors.
StatusOr<Task> BuildTask(const Graph& graph, const Subgraph& subgraph,
                         const ValueStorage& storage = {}, const NumericOptions& requested = {});

}  // namespace tcc
