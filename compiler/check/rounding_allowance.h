#pragma once

#include "compiler/check/compare_tensors.h"
#include "graph/variants/interpret_graph.h"

namespace tcc {

// Whether values that nodes compute are f16 or bf16, in bodies too: what a model of these types
// answers depends on where it rounds.
bool HasNarrowFloats(const Graph& graph);

// How far right answers to `inputs` may lie from `expected`, by the types of the model: a compiled
// model may keep values of f16 and bf16 in f32 where it fuses the nodes that make and read them,
// or round where the reference does not. With a numeric mode, `how.numeric`, so far as operands of
// contractions are rounded as well.
//
// Measured, as no formula is both safe and tight for a whole network: the model is interpreted
// kRoundingRuns times node by node, each value that is rounded going up or down at random
// (discrete stochastic arithmetic: J. Vignes, 1993). The root mean square distance from
// `expected` is an element's spread; kSpreadsAllowed times the largest spread of elements up to
// twice as large as it, and of at least the kMinPeers smallest ones, is its allowance: a single
// element's spread may be small by chance, and errors grow with what they are errors of. A zero has
// the kMinPeers smallest ones that have a spread for peers: what Relu cuts off shows none,
// though it may be close to being let through.
//
// Expects InferShapes to have run. `how` gives threads and progress.
inline constexpr int kRoundingRuns = 4;
inline constexpr double kSpreadsAllowed = 4;
inline constexpr size_t kMinPeers = 64;
StatusOr<std::vector<Allowance>> RoundingAllowances(const Graph& graph,
                                                    const std::vector<Tensor>& inputs,
                                                    const std::vector<Tensor>& expected,
                                                    InterpretGraphOptions how);

}  // namespace tcc
