#pragma once

#include "ir/graph/graph.h"
#include "support/status.h"

// The graph passes, in the order of graph_pipeline.cc. Each expects inferred shapes, keeps them,
// and preserves what the graph computes.
namespace tcc {

// Computes Conv, Gemm and MatMul of dequantized operands in integers, which is exact, where the
// weight is a constant of bytes and 32 bits hold every sum:
//
//   Conv(DequantizeLinear(x, s, z), DequantizeLinear(w, t, u), b)
//     -->  Cast(ConvInteger(x, w, z, u)) * (s * t) + b
//
// A QuantizeLinear by one step that alone reads the result, perhaps behind a Relu, leaves the
// division by the step to the two constants. Convolutions with fewer than 8 channels per group
// have weights of f32, in which their sums are exact, or stay where they may not be. Integer
// products lose the zero point of a constant weight that is 0, or 128 of unsigned bytes, which
// become signed ones. Maxima and movements between a DequantizeLinear and a QuantizeLinear that
// undoes it are those of the bytes.
Status RewriteQuantized(Graph& graph);

// Makes MatMulWords of products by large constant weights that are dequantized from 2, 4 or 8
// bits by blocks of the depth or by columns (MatMulNBits, DequantizeLinear), where few rows read
// them: the time is that of reading the weights, which f32 would make 4 to 8 times as long. Other
// weights are left to be folded.
Status RewriteNarrowWeights(Graph& graph);

// Removes nodes whose results are not read, and values (weights too) that are not used; value ids
// change.
Status RemoveDead(Graph& graph);

// Forwards a result that equals an operand to its readers: Identity, Dropout, x + 0, x * 1, Where
// under a known condition, and operators that leave type, shape and order as they are (Cast, Clip
// without bounds, Reshape, Expand, Transpose, Slice, Pad, ...).
Status RemoveIdentities(Graph& graph);

// The net number of bytes that folding may add to a graph's constants: more inflates the artefact
// and the compiler's memory, or was meant as a bomb.
inline constexpr int64_t kFoldedBytes = int64_t{64} << 20;

// The remaining bytes, and the remaining time: the interpreter does some 10^7 block instances per
// second.
struct FoldBudget {
  int64_t bytes = kFoldedBytes;
  int64_t instances = int64_t{1} << 25;
};

// Folds nodes over constants, in order, while the added bytes and the work stay within `budget`,
// which it lowers. The other nodes are left to run time.
Status FoldConstants(Graph& graph, FoldBudget& budget);
// Folds constants within a budget of its own, in all bodies as well.
Status FoldConstants(Graph& graph);

// Merges nodes with equal operators, attributes and operands, and constants with equal bytes. Nodes
// with bodies and outputs of the graph stay.
Status EliminateCommonSubexpressions(Graph& graph);

// Runs RemoveIdentities, FoldConstants (within one budget together) and
// EliminateCommonSubexpressions until none of them changes anything, in all bodies as well.
Status SimplifyToFixedPoint(Graph& graph);

// Folds a BatchNormalization with constant parameters into the weights and bias of the Conv or
// ConvTranspose before it if nobody else reads that, else into one Mul and one Add per channel.
Status FoldBatchNormalizations(Graph& graph);

// Replaces decomposed LayerNormalization, RMSNormalization and GroupNormalization by one node each.
Status RewriteNormalizations(Graph& graph);

// Replaces decomposed Gelu, Swish, Mish, HardSigmoid and HardSwish by one node each.
Status RewriteActivations(Graph& graph);

// Replaces x * cos + turned(x) * sin, whose tables hold each angle twice, by a RotaryEmbedding.
Status RewriteRotaryEmbeddings(Graph& graph);

// Replaces softmax(scale query keys^T + mask) values by an Attention over four dimensions, whose
// keys and values are not repeated for the heads that share them. A causal mask becomes the
// attribute.
Status RewriteAttentions(Graph& graph);

// Merges a Transpose of a Transpose and a view of a view; turns a Gather of one index into a Slice.
Status RewriteMovements(Graph& graph);

// Moves an elementwise node of one operand and scalars before the Transposes and views in front of
// it, so that the kernel that computes the operand can take it; one of two operands, such as a sum
// with a residual, before the views of a contraction's result, where the other one is viewed alike.
Status SinkMovements(Graph& graph);

// Joins the products of one value with constants, such as queries, keys and values, into one whose
// columns stand beside each other, where attentions read their parts in place.
Status JoinProducts(Graph& graph);

// Cuts queries, keys and values that one product made beside each other into heads first and takes
// each of the three from the heads, where exporters move the three to the front of all: attentions
// read their parts in place.
Status SliceHeads(Graph& graph);

// Cuts a Split into hundreds of parts into several Splits, because one kernel's compile time grows
// with the square of its parts.
Status CutSplits(Graph& graph);

// Turns Clip from 0 without an upper bound into Relu; removes a Relu of a Relu.
Status SimplifyActivations(Graph& graph);

// Transposes the constant right operand of a Gemm from [N, K] to [K, N], so that lanes read
// contiguous rows.
Status TransposeGemmWeights(Graph& graph);

// Makes convolutional networks run channels last inside: sets Node::layout, transposes the weights
// of convolutions to [k..., C/group, M] (ConvTranspose: [k..., C, M/group]) and the rows of a Gemm
// behind a Flatten, and inserts a Repack wherever a value is read in another order than it is
// stored in. Graph inputs, outputs and constants keep the model's order. A Conv may end up with a
// computed weight behind a Transpose.
Status AssignLayouts(Graph& graph);

// Materializes the iteration number where a Loop's body reads it: scanned from a constant list if
// the Loop is short, else carried and incremented. A plan has it only in the offsets of buffers.
Status CountIterations(Graph& graph);

}  // namespace tcc
