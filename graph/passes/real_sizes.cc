#include "graph/passes/real_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>

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
  // Returns whether floats round down to it, which below 0 exact factors alone do.
  bool FloorIsKnown() const { return is_exact || AlwaysHolds(whole >= Expr(0)); }
};

using Reals = std::optional<std::vector<Real>>;

// Arithmetic that is exact on whole numbers.
struct WholeRow {
  OpKind op;
  Expr (*apply)(const Expr& a, const Expr& b);
};

constexpr WholeRow kWhole[] = {
    {OpKind::kAdd, SumOf},
    {OpKind::kSub, DifferenceOf},
    {OpKind::kMax, LargerOf},
    {OpKind::kMin, SmallerOf},
};

// Whole numbers below this are exact in f32.
constexpr double kMaxWhole = 1 << 24;

// The nodes that are searched, for sizes are computed near their readers, and those between
// dimensions and sizes that are looked at, each as often as it is read.
constexpr size_t kMaxNodesBack = 4096;
constexpr int kMaxVisits = 256;

bool IsComputedIn(DType type) {
  return type == kFloat32 || type == kFloat64;
}

Reals WholeReals(const std::vector<Expr>& elements) {
  if (elements.empty()) return std::nullopt;
  std::vector<Real> reals;
  for (const Expr& element : elements) reals.push_back({element});
  return reals;
}

Reals WholeNumbers(const Tensor& constant) {
  int64_t count = ElementCount(constant.shape).value_or(kMaxKnownElements + 1);
  std::vector<Real> reals;
  for (int64_t i = 0; i < count && count <= kMaxKnownElements; ++i) {
    double number = ElementAsDouble(constant, i);
    if (number != std::floor(number) || std::fabs(number) > kMaxWhole) return std::nullopt;
    reals.push_back({Expr(static_cast<int64_t>(number))});
  }
  return reals.empty() ? std::nullopt : Reals(std::move(reals));
}

// Combines two lists of whole numbers of one length, or one with a single number.
Reals CombinedWhole(const Reals& a, const Reals& b, Expr (*apply)(const Expr&, const Expr&)) {
  auto is_whole = [](const Real& real) { return real.IsWhole(); };
  bool known = a && b && std::ranges::all_of(*a, is_whole) && std::ranges::all_of(*b, is_whole);
  if (!known || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return std::nullopt;
  std::vector<Real> reals;
  for (size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    reals.push_back(
        {apply((*a)[a->size() == 1 ? 0 : i].whole, (*b)[b->size() == 1 ? 0 : i].whole)});
  }
  return reals;
}

class RealElements {
 public:
  explicit RealElements(const Graph& graph) : graph_(graph) {
    size_t count = std::min(graph.nodes.size(), kMaxNodesBack);
    for (const Node& node : std::span(graph.nodes).last(count)) {
      for (ValueId output : node.outputs) producers_[output] = &node;
    }
  }

  Reals Of(ValueId id) {
    if (const Tensor* constant = graph_.ConstantOf(id)) return WholeNumbers(*constant);
    auto producer = producers_.find(id);
    if (producer == producers_.end() || visits_left_-- <= 0) return std::nullopt;
    const Node* node = producer->second;
    if (node->op == OpKind::kCast) return Cast(*node);
    if (node->op == OpKind::kConcat) return Joined(*node);
    if (node->op == OpKind::kMul || node->op == OpKind::kDiv) return Scaled(*node);
    if (node->op == OpKind::kFloor || node->op == OpKind::kCeil) return Rounded(*node);
    if (node->op == OpKind::kClip) return Clipped(*node);
    for (const WholeRow& row : kWhole) {
      if (row.op == node->op) return Combined(*node, row.apply);
    }
    constexpr OpKind kKeep[] = {OpKind::kIdentity, OpKind::kReshape, OpKind::kSqueeze,
                                OpKind::kUnsqueeze};
    bool keeps = std::ranges::find(kKeep, node->op) != std::end(kKeep);
    return keeps ? Of(node->inputs[0]) : std::nullopt;
  }

 private:
  DType TypeOf(ValueId id) const { return graph_.value(id).dtype; }

  Reals Cast(const Node& node) {
    ValueId from = node.inputs[0];
    if (!IsComputedIn(TypeOf(node.outputs[0]))) return std::nullopt;
    if (TypeOf(from).is_integer()) return WholeReals(graph_.value(from).elements);
    bool keeps = TypeOf(from) == TypeOf(node.outputs[0]);
    return keeps ? Of(from) : std::nullopt;
  }

  Reals Joined(const Node& node) {
    if (graph_.value(node.outputs[0]).shape.size() != 1) return std::nullopt;
    std::vector<Real> all;
    for (ValueId part : node.inputs) {
      Reals reals = Of(part);
      if (!reals || all.size() + reals->size() > kMaxKnownElements) return std::nullopt;
      all.insert(all.end(), reals->begin(), reals->end());
    }
    return all;
  }

  // Whole numbers times, or over, a constant of one element.
  Reals Scaled(const Node& node) {
    bool divides = node.op == OpKind::kDiv;
    bool second = graph_.ConstantOf(node.inputs[1]) != nullptr;
    const Tensor* factor = graph_.ConstantOf(node.inputs[second ? 1 : 0]);
    if (!factor || ElementCount(factor->shape).value_or(0) != 1 || (divides && !second)) {
      return std::nullopt;
    }
    Reals reals = Of(node.inputs[second ? 0 : 1]);
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

  Reals Combined(const Node& node, Expr (*apply)(const Expr&, const Expr&)) {
    if (node.inputs.size() != 2) return std::nullopt;
    return CombinedWhole(Of(node.inputs[0]), Of(node.inputs[1]), apply);
  }

  Reals Clipped(const Node& node) {
    Reals reals = Of(node.inputs[0]);
    for (size_t bound : {size_t{1}, size_t{2}}) {
      bool is_given = bound < node.inputs.size() && node.inputs[bound] != kNoValue;
      if (!is_given) continue;
      reals = CombinedWhole(reals, Of(node.inputs[bound]), bound == 1 ? LargerOf : SmallerOf);
    }
    return reals;
  }

  Reals Rounded(const Node& node) {
    Reals reals = Of(node.inputs[0]);
    if (!reals) return std::nullopt;
    bool up = node.op == OpKind::kCeil;
    for (Real& real : *reals) {
      if ((up && !real.is_exact) || !real.FloorIsKnown()) return std::nullopt;
      real = {up ? CeilQuotientOf(real.whole, Expr(real.down)) : real.Floor()};
    }
    return reals;
  }

  const Graph& graph_;
  std::unordered_map<ValueId, const Node*> producers_;
  int visits_left_ = kMaxVisits;
};

}  // namespace

std::vector<Expr> WholeSizes(const Graph& graph, ValueId reals) {
  if (!IsComputedIn(graph.value(reals).dtype)) return {};
  Reals known = RealElements(graph).Of(reals);
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
