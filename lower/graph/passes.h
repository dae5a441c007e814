#pragma once

#include "ir/graph.h"
#include "ir/support/status.h"

// The graph passes, in the order of graph_pipeline.cc. Each expects shapes to be inferred, keeps
// them so, and keeps what the graph computes.
namespace tcc {

// Nodes whose results nobody reads go, and values (weights too) that nobody names; value ids
// change.
Status RemoveDead(Graph& graph);

// Identity, Dropout, Cast to the same type, Clip without bounds, Expand and Reshape to the same
// shape and Transpose in order: readers take the operand.
Status RemoveIdentities(Graph& graph);

// Nodes over constants become constants while the results stay under a budget of bytes.
Status FoldConstants(Graph& graph);

// BatchNormalization with constant parameters: into the weights and bias of the Conv before it
// where nobody else reads that, else one Mul and one Add a channel.
Status FoldBatchNormalizations(Graph& graph);

// Clip from 0 without an upper bound becomes Relu; a Relu of a Relu goes.
Status SimplifyActivations(Graph& graph);

// Gemm with a constant transposed right operand: [N, K] becomes [K, N], as rows are read by lanes.
Status TransposeGemmWeights(Graph& graph);

// Convolutional networks run channels last inside: sets Node::layout, transposes the weights of
// convolutions to [k..., C/group, M] and the rows of a Gemm behind a Flatten, and inserts a Repack
// wherever a value is read in another order than it is stored in. Graph inputs, outputs and
// constants keep the model's order. A Conv may end up with a computed weight behind a Transpose.
Status AssignLayouts(Graph& graph);

}  // namespace tcc
