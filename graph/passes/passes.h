#pragma once

#include "ir/graph/graph.h"
#include "support/status.h"

// The graph passes, in the order of graph_pipeline.cc. Each expects shapes to be inferred, keeps
// them so, and keeps what the graph computes.
namespace tcc {

// Nodes whose results nobody reads go, and values (weights too) that nobody names; value ids
// change.
Status RemoveDead(Graph& graph);

// Where a result is an operand, readers take that: Identity, Dropout, x + 0, x * 1, Where under a
// known condition, and what leaves type, shape and order as they are (Cast, Clip without bounds,
// Reshape, Expand, Transpose, Slice, Pad, ...).
Status RemoveIdentities(Graph& graph);

// What folding may add to a graph's constants, those that go for it deducted: more grows the
// artefact and the compiler's memory, or was meant as a bomb.
inline constexpr int64_t kFoldedBytes = int64_t{64} << 20;

// What is left of that, and of the time: the interpreter does some 10^7 block instances a second.
struct FoldBudget {
  int64_t bytes = kFoldedBytes;
  int64_t instances = int64_t{1} << 25;
};

// Nodes over constants become constants, in order, while what they add stays within `budget`, which
// is lowered by it; others are left to run time.
Status FoldConstants(Graph& graph, FoldBudget& budget);
// The same within a budget of its own, in all bodies as well.
Status FoldConstants(Graph& graph);

// Of nodes with the same operator, attributes and operands one stays, of constants with the same
// bytes too. Nodes with bodies and outputs of the graph stay.
Status EliminateCommonSubexpressions(Graph& graph);

// RemoveIdentities, FoldConstants (within one budget together) and EliminateCommonSubexpressions
// until none of them finds anything, in all bodies as well.
Status SimplifyToFixedPoint(Graph& graph);

// BatchNormalization with constant parameters: into the weights and bias of the Conv or
// ConvTranspose before it where nobody else reads that, else one Mul and one Add a channel.
Status FoldBatchNormalizations(Graph& graph);

// LayerNormalization, RMSNormalization and GroupNormalization that an exporter wrote as their parts
// become one node each.
Status RewriteNormalizations(Graph& graph);

// Gelu, Swish, Mish, HardSigmoid and HardSwish that were written as their parts become one node.
Status RewriteActivations(Graph& graph);

// x * cos + turned(x) * sin, where the tables hold each angle twice, becomes a RotaryEmbedding.
Status RewriteRotaryEmbeddings(Graph& graph);

// softmax(scale query keys^T + mask) values becomes an Attention over four dimensions, whose keys
// and values are not repeated for the heads that share them. A mask that is causal becomes the
// attribute.
Status RewriteAttentions(Graph& graph);

// A Transpose of a Transpose and a view of a view become one; a Gather of one index is a Slice.
Status RewriteMovements(Graph& graph);

// An element-wise node of one operand and numbers goes before the Transposes and views between it
// and what computes that operand, whose kernel can then take it.
Status SinkMovements(Graph& graph);

// A Split into hundreds becomes several of some of the parts each, as one kernel's compile time
// grows with the square of its parts.
Status CutSplits(Graph& graph);

// Clip from 0 without an upper bound becomes Relu; a Relu of a Relu goes.
Status SimplifyActivations(Graph& graph);

// Gemm with a constant transposed right operand: [N, K] becomes [K, N], as rows are read by lanes.
Status TransposeGemmWeights(Graph& graph);

// Convolutional networks run channels last inside: sets Node::layout, transposes the weights of
// convolutions to [k..., C/group, M] (ConvTranspose: [k..., C, M/group]) and the rows of a Gemm
// behind a Flatten, and inserts a Repack wherever a value is read in another order than it is
// stored in. Graph inputs, outputs and constants keep the model's order. A Conv may end up with a
// computed weight behind a Transpose.
Status AssignLayouts(Graph& graph);

// The number of the iteration where a Loop's body reads it: scanned from a constant list where the
// Loop is short, else carried and counted up. A plan has it only in the offsets of buffers.
Status CountIterations(Graph& graph);

}  // namespace tcc
