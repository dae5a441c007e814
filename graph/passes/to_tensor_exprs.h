#pragma once

#include <unordered_set>

#include "graph/ops/node_lowering.h"
#include "graph/passes/fuse_graph.h"
#include "ir/expr/compare.h"

namespace tcc {

// Lowers a subgraph to a program: its nodes' stages one after the other, where a stage that only
// maps is inlined into its readers. A convolution with bias, addition and Relu thus has two stages,
// the sum into an intermediate buffer and one map. Inputs and outputs of the program are the values
// that it really reads and writes. `core` selects how attentions reduce their rows of logits;
// Unimplemented if one does not support it.
enum class AttentionCore : uint8_t { kParts, kTuple };
StatusOr<LoweredNode> ToTensorExprs(const Graph& graph, const Subgraph& subgraph,
                                    AttentionCore core = AttentionCore::kParts);

using BufferSet = std::unordered_set<Var, VarHash>;

// Inlines maps that write an intermediate buffer into the stages that read it, and removes what is
// then unused. These maps stay: one whose expression would grow beyond reason, a table of costly
// function values that is read more often than it is long, one that a later stage overwrites. A
// value that is computed in a wider type than its buffer's and widened again where it is read is no
// longer rounded on the way, unless the buffer is one of `exact`.
void InlineMaps(TensorProgram& program, const BufferSet& exact = {});

}  // namespace tcc
