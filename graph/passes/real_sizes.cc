#include "graph/passes/real_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/ops/resample.h"
#include "graph/passes/elements.h"
#include "ir/graph/constants.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {
namespace {

// The fraction whole / down as floats have it: rounded down they give its floor, rounded up its
// ceiling if the factors were exact.
struct Real {
  Expr whole;
  int64_t down = 1;
  bool is_exact = true;

  bool IsWhole() const { return down == 1; }
  Expr Floor() const { return QuotientOf(whole, Expr(down)); }
};

using Reals = std::optional<std::vector<Real>>;

// The longest chain of nodes from a dimension to a size.
constexpr int kMaxSteps = 16;

Reals WholeReals(const std::vector<Expr>& elements) {
  if (elements.empty()) return std::nullopt;
  std::vector<Real> reals;
  for (const Expr& element : elements) reals.push_back({element});
  return reals;
}

class RealElements {
 public:
  explicit RealElements(const Graph& graph) : graph_(graph) {}

  Reals Of(ValueId id, int steps) const {
    const Node* node = steps > 0 ? Producer(id) : nullptr;
    if (!node) return std::nullopt;
    if (node->op == OpKind::kCast) return Cast(*node, steps);
    if (node->op == OpKind::kConcat) return Joined(*node, steps);
    if (node->op == OpKind::kMul || node->op == OpKind::kDiv) return Scaled(*node, steps);
    if (node->op == OpKind::kFloor || node->op == OpKind::kCeil) return Rounded(*node, steps);
    constexpr OpKind kKeep[] = {OpKind::kIdentity, OpKind::kReshape, OpKind::kSqueeze,
                                OpKind::kUnsqueeze};
    bool keeps = std::ranges::find(kKeep, node->op) != std::end(kKeep);
    return keeps ? Of(node->inputs[0], steps - 1) : std::nullopt;
  }

 private:
  const Node* Producer(ValueId id) const {
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (std::ranges::find(node->outputs, id) != node->outputs.end()) return &*node;
    }
    return nullptr;
  }
  DType TypeOf(ValueId id) const { return graph_.value(id).dtype; }

  Reals Cast(const Node& node, int steps) const {
    ValueId from = node.inputs[0];
    if (TypeOf(from).is_integer()) return WholeReals(graph_.value(from).elements);
    bool keeps = TypeOf(from) == TypeOf(node.outputs[0]);
    return keeps ? Of(from, steps - 1) : std::nullopt;
  }

  Reals Joined(const Node& node, int steps) const {
    if (graph_.value(node.outputs[0]).shape.size() != 1) return std::nullopt;
    std::vector<Real> all;
    for (ValueId part : node.inputs) {
      Reals reals = Of(part, steps - 1);
      if (!reals || all.size() + reals->size() > kMaxKnownElements) return std::nullopt;
      all.insert(all.end(), reals->begin(), reals->end());
    }
    return all;
  }

  // Whole numbers times, or over, a constant of one element.
  Reals Scaled(const Node& node, int steps) const {
    bool divides = node.op == OpKind::kDiv;
    bool second = graph_.ConstantOf(node.inputs[1]) != nullptr;
    const Tensor* factor = graph_.ConstantOf(node.inputs[second ? 1 : 0]);
    if (!factor || ElementCount(factor->shape).value_or(0) != 1 || (divides && !second)) {
      return std::nullopt;
    }
    Reals reals = Of(node.inputs[second ? 0 : 1], steps - 1);
    std::optional<Real> scale = ScaleOf(ElementAsDouble(*factor, 0), divides, factor->dtype);
    if (!reals || !scale) return std::nullopt;
    for (Real& real : *reals) {
      if (!real.IsWhole()) return std::nullopt;
      real = {ProductOf(real.whole, scale->whole), scale->down, scale->is_exact};
    }
    return reals;
  }

  // Returns a factor, or the inverse of a whole divisor.
  static std::optional<Real> ScaleOf(double number, bool divides, DType type) {
    if (divides) {
      bool fits = number == std::floor(number) && number >= 1 && number <= kMaxRatio;
      return fits ? std::optional(Real{Expr(1), static_cast<int64_t>(number)}) : std::nullopt;
    }
    std::optional<ScaleRatio> ratio = RatioOf(number);
    if (!ratio) return std::nullopt;
    bool is_exact = number * static_cast<double>(ratio->down) == static_cast<double>(ratio->up);
    if (!is_exact && type != kFloat32) return std::nullopt;
    return Real{Expr(ratio->up), ratio->down, is_exact};
  }

  Reals Rounded(const Node& node, int steps) const {
    Reals reals = Of(node.inputs[0], steps - 1);
    if (!reals) return std::nullopt;
    bool up = node.op == OpKind::kCeil;
    for (Real& real : *reals) {
      if (up && !real.is_exact) return std::nullopt;
      real = {up ? CeilQuotientOf(real.whole, Expr(real.down)) : real.Floor()};
    }
    return reals;
  }

  const Graph& graph_;
};

}  // namespace

std::vector<Expr> WholeSizes(const Graph& graph, ValueId reals) {
  DType type = graph.value(reals).dtype;
  if (type != kFloat32 && type != kFloat64) return {};
  Reals known = RealElements(graph).Of(reals, kMaxSteps);
  if (!known) return {};
  std::vector<Expr> sizes;
  for (const Real& real : *known) {
    // Truncation is the floor of what is not negative.
    if (!real.IsWhole() && !AlwaysHolds(real.whole >= Expr(0))) return {};
    sizes.push_back(real.Floor());
  }
  return sizes;
}

}  // namespace tcc
