#pragma once

#include "compiler/check/compare_tensors.h"
#include "graph/variants/interpret_graph.h"

namespace tcc {

// Returns whether nodes, bodies included, compute values of f16 or bf16: the results of such a
// model depend on where it rounds.
bool HasNarrowFloats(const Graph& graph);

// The numbers of RoundingAllowances, which explains them.
inline constexpr int kRoundingRuns = 4;
inline constexpr double kSpreadsAllowed = 4;
inline constexpr size_t kMinPeers = 64;

// How far the elements of a value are from `expected` in runs with random roundings.
class RoundingSpread {
 public:
  explicit RoundingSpread(Tensor expected);

  // Adds the value of one run, of the same elements.
  void Add(const Tensor& got);
  Allowance ToAllowance() const;

 private:
  Tensor expected_;
  int runs_ = 0;
  std::vector<double> squares_;  // sums of squared distances between finite elements
};

// Returns how far correct results for `inputs` may differ from `expected` by the model's types: a
// compiled model may keep values of f16 and bf16 in f32 where it fuses their producers and
// consumers, or round where the reference does not. With a numeric mode, `how.numeric`, rounded
// operands of contractions add to that.
//
// The allowance is measured, since no formula is both safe and tight for a whole network. The model
// is interpreted kRoundingRuns times node by node, and each rounding goes up or down at random
// (discrete stochastic arithmetic: J. Vignes, 1993). An element's spread is its root mean square
// distance from `expected`. Its allowance is kSpreadsAllowed times the largest spread of its peers,
// because a single element's spread may be small by chance. Its peers are the elements up to twice
// as large, since errors grow with magnitude, and at least the kMinPeers smallest ones. The peers
// of a zero are the kMinPeers smallest elements that have a spread: a value that Relu cuts off
// shows none, though it may be close to passing.
//
// Expects InferShapes to have run. `how` sets threads and progress.
StatusOr<std::vector<Allowance>> RoundingAllowances(const Graph& graph,
                                                    const std::vector<Tensor>& inputs,
                                                    const std::vector<Tensor>& expected,
                                                    InterpretGraphOptions how);

}  // namespace tcc
