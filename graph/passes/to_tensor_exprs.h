#pragma once

#include <unordered_set>

#include "graph/ops/node_lowering.h"
#include "graph/passes/fuse_graph.h"
#include "ir/expr/compare.h"

namespace tcc {

// What the subgraph computes: its nodes' stages one after the other, where a stage that only maps
// is inlined into those that read it; so a convolution with bias, addition and Relu has two stages,
// the sum into an intermediate buffer and one map. Inputs and outputs of the program are those
// values that are really read and written by it.
// `core` says how attentions reduce their rows of logits; Unimplemented where one cannot do so.
enum class AttentionCore : uint8_t { kParts, kTuple };
StatusOr<LoweredNode> ToTensorExprs(const Graph& graph, const Subgraph& subgraph,
                                    AttentionCore core = AttentionCore::kParts);

using BufferSet = std::unordered_set<Var, VarHash>;

// Inlines maps that write an intermediate buffer into the stages that read it, and drops what is
// then unused. What stays: a map whose expression would grow beyond reason, a table of costly
// function values that is read more often than it is long, what a later stage overwrites. A value
// that is computed in a wider type than the buffer's and widened again where it is read is no
// longer rounded on the way, unless the buffer is one of `exact`.
void InlineMaps(TensorProgram& program, const BufferSet& exact = {});

}  // namespace tcc
