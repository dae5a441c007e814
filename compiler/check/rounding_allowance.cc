#include "compiler/check/rounding_allowance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/check.h"

namespace tcc {
namespace {

bool IsNarrowFloat(DType dtype) {
  return dtype.is_float() && dtype.bits() < 32;
}

// Returns the largest of the first kMinPeers squares in this order that are not 0.
double LargestOfTheFirst(const std::vector<double>& squares, const std::vector<size_t>& order) {
  double largest = 0;
  size_t moved = 0;
  for (size_t i : order) {
    largest = std::max(largest, squares[i]);
    moved += squares[i] > 0;
    if (moved == kMinPeers) break;
  }
  return largest;
}

// Computes the allowance from the sums of squares over the runs.
Allowance AllowanceOf(const std::vector<double>& squares, int runs, const Tensor& expected) {
  size_t count = squares.size();
  std::vector<double> size(count);
  for (size_t i = 0; i < count; ++i) {
    double value = std::fabs(ElementAsDouble(expected, static_cast<int64_t>(i)));
    size[i] = std::isfinite(value) ? value : 0;
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return size[a] < size[b]; });

  Allowance allowance(count);
  const double largest_near_zero = LargestOfTheFirst(squares, order);
  double largest = 0;
  size_t peers = 0;
  for (size_t i : order) {
    while (peers < count && (peers < kMinPeers || size[order[peers]] <= 2 * size[i])) {
      largest = std::max(largest, squares[order[peers++]]);
    }
    const double square = size[i] == 0 ? largest_near_zero : largest;
    allowance[i] = kSpreadsAllowed * std::sqrt(square / runs);
  }
  return allowance;
}

}  // namespace

RoundingSpread::RoundingSpread(Tensor expected)
    : expected_(std::move(expected)),
      squares_(static_cast<size_t>(ElementCount(expected_.shape).value_or(0))) {}

void RoundingSpread::Add(const Tensor& got) {
  ++runs_;
  for (size_t i = 0; i < squares_.size(); ++i) {
    double g = ElementAsDouble(got, static_cast<int64_t>(i));
    double e = ElementAsDouble(expected_, static_cast<int64_t>(i));
    if (std::isfinite(g) && std::isfinite(e)) squares_[i] += (g - e) * (g - e);
  }
}

Allowance RoundingSpread::ToAllowance() const {
  return AllowanceOf(squares_, std::max(runs_, 1), expected_);
}

bool HasNarrowFloats(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) {
      if (id != kNoValue && IsNarrowFloat(graph.value(id).dtype)) return true;
    }
    if (std::ranges::any_of(node.bodies, HasNarrowFloats)) return true;
  }
  return false;
}

StatusOr<std::vector<Allowance>> RoundingAllowances(const Graph& graph,
                                                    const std::vector<Tensor>& inputs,
                                                    const std::vector<Tensor>& expected,
                                                    InterpretGraphOptions how) {
  how.fusion = Fusion::kNodeByNode;
  std::vector<RoundingSpread> spreads(expected.begin(), expected.end());
  for (int run = 0; run < kRoundingRuns; ++run) {
    how.rounding_seed = run;
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, InterpretGraph(graph, inputs, how));
    TCC_CHECK(outputs.size() == expected.size()) << outputs.size();
    for (size_t i = 0; i < outputs.size(); ++i) spreads[i].Add(outputs[i]);
  }
  std::vector<Allowance> allowances;
  for (const RoundingSpread& spread : spreads) allowances.push_back(spread.ToAllowance());
  return allowances;
}

}  // namespace tcc
