#include "graph/variants/value_set.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "graph/passes/edit.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Chains of nodes beyond this length say nothing.
constexpr int kMaxDepth = 16;

// The share of a step by which the quotient of a QuantizeLinear may be off.
constexpr double kQuotientError = 1e-3;
// Smaller scales may count as 0.
constexpr double kMinScale = 0x1p-100;

ValueSet Union(const ValueSet& a, const ValueSet& b) {
  const auto apart = static_cast<uint64_t>(a.low - b.low);
  const int64_t common =
      apart == 0 ? std::numeric_limits<int64_t>::max() : int64_t{1} << std::countr_zero(apart);
  return {std::min(a.low, b.low), std::max(a.high, b.high), std::min({a.step, b.step, common})};
}

bool Holds(const ValueSet& outer, const ValueSet& inner) {
  return outer.low <= inner.low && inner.high <= outer.high;
}

// Returns the values of a constant; all of its type if they span too many steps.
ValueSet ValuesOfConstant(const Tensor& tensor, const ValueSet& all) {
  const int64_t count = ElementCount(tensor.shape).value();
  if (count == 0) return all;
  const int64_t first = ElementAsInt(tensor, 0);
  ValueSet values{first, first, 1};
  uint64_t differences = 0;  // a bit is set where it is in some of them
  for (int64_t i = 1; i < count; ++i) {
    const int64_t value = ElementAsInt(tensor, i);
    values.low = std::min(values.low, value);
    values.high = std::max(values.high, value);
    differences |= static_cast<uint64_t>(value - first);
    if (differences != 0) values.step = int64_t{1} << std::countr_zero(differences);
    if ((values.high - values.low) / values.step > kMaxSteps) return all;
  }
  return values;
}

// A range of floats.
struct Reals {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// Returns false where a window of the pool may lie outside its input.
bool HasElementInEachWindow(const Node& node) {
  const std::vector<int64_t> window = node.Ints("kernel_shape", {});
  const std::vector<int64_t> pads = node.Ints("pads", std::vector<int64_t>(2 * window.size(), 0));
  bool fits = node.outputs.size() == 1 && node.String("auto_pad", "NOTSET") == "NOTSET" &&
              node.Int("ceil_mode", 0) == 0 && pads.size() == 2 * window.size();
  for (size_t i = 0; fits && i < pads.size(); ++i) fits = pads[i] < window[i % window.size()];
  return fits && std::ranges::all_of(node.Ints("dilations", {}), [](int64_t d) { return d == 1; });
}

// Returns whether the elements of all results are elements of the first operand, in another type at
// most.
bool CopiesElements(const Node& node) {
  constexpr OpKind kCopying[] = {OpKind::kCast,      OpKind::kIdentity, OpKind::kReshape,
                                 OpKind::kFlatten,   OpKind::kSqueeze,  OpKind::kUnsqueeze,
                                 OpKind::kTranspose, OpKind::kRepack,   OpKind::kSlice,
                                 OpKind::kSplit,     OpKind::kExpand,   OpKind::kTile};
  if (node.op == OpKind::kMaxPool) return HasElementInEachWindow(node);
  return std::ranges::find(kCopying, node.op) != std::end(kCopying);
}

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), producers_(ProducersOf(graph)) {}

  std::optional<ValueSet> Of(ValueId id, int depth = 0) const {
    const std::optional<ValueSet> all = ValuesOfType(graph_.value(id).dtype);
    if (!all) return std::nullopt;
    if (const Tensor* constant = graph_.ConstantOf(id)) return ValuesOfConstant(*constant, *all);
    const Node* node = NodeOf(id);
    if (!node || depth == kMaxDepth) return all;
    const std::optional<ValueSet> computed = Computed(*node, depth + 1);
    // Others wrap or saturate.
    return computed && Holds(*all, *computed) ? computed : all;
  }

 private:
  const Node* NodeOf(ValueId id) const {
    return producers_[id] < 0 ? nullptr : &graph_.nodes[producers_[id]];
  }

  std::optional<ValueSet> Computed(const Node& node, int depth) const {
    if (CopiesElements(node)) return Of(node.inputs[0], depth);
    if (node.op == OpKind::kConcat) return Joined(node.inputs, depth);
    if (node.op == OpKind::kClip) return Clipped(node, depth);
    return node.op == OpKind::kQuantizeLinear ? Quantized(node) : std::nullopt;
  }

  std::optional<ValueSet> Joined(const std::vector<ValueId>& ids, int depth) const {
    std::optional<ValueSet> joined = Of(ids[0], depth);
    for (size_t i = 1; joined && i < ids.size(); ++i) {
      const std::optional<ValueSet> values = Of(ids[i], depth);
      joined = values ? std::optional(Union(*joined, *values)) : std::nullopt;
    }
    return joined;
  }

  // Returns the number that input `i` is, fallback if it is absent; nullopt if it is not constant.
  std::optional<double> Number(const Node& node, size_t i, double fallback) const {
    if (i >= node.inputs.size() || node.inputs[i] == kNoValue) return fallback;
    const Tensor* tensor = graph_.ConstantOf(node.inputs[i]);
    if (!tensor || ElementCount(tensor->shape).value() != 1) return std::nullopt;
    return ElementAsDouble(*tensor, 0);
  }

  std::optional<ValueSet> Clipped(const Node& node, int depth) const {
    const std::optional<ValueSet> values = Of(node.inputs[0], depth);
    const std::optional<Reals> ends = EndsOf(node);
    if (!values || !ends) return std::nullopt;
    auto inside = [&](int64_t value) {
      return static_cast<int64_t>(std::clamp(static_cast<double>(value), ends->low, ends->high));
    };
    return ValueSet{inside(values->low), inside(values->high), 1};
  }

  // Returns the ends of a Clip; nullopt if one is not known.
  std::optional<Reals> EndsOf(const Node& node) const {
    const Reals all;
    const std::optional<double> low = Number(node, 1, all.low);
    const std::optional<double> high = Number(node, 2, all.high);
    if (!low || !high || !(*low <= *high)) return std::nullopt;
    return Reals{*low, *high};
  }

  // Returns the range of a value of floats, among which NaN may be.
  Reals RealsOf(ValueId id) const {
    const Node* node = NodeOf(id);
    if (node && node->op == OpKind::kRelu) return {.low = 0};
    return node && node->op == OpKind::kClip ? EndsOf(*node).value_or(Reals{}) : Reals{};
  }

  // Returns the integers nearest to the quotients of a known range, and 0, which NaN becomes.
  std::optional<ValueSet> Quantized(const Node& node) const {
    const std::optional<double> scale = Number(node, 1, 1);
    const std::optional<double> zero = Number(node, 2, 0);
    const std::optional<ValueSet> all = ValuesOfType(graph_.value(node.outputs[0]).dtype);
    bool is_known = scale && zero && all && *scale >= kMinScale && std::isfinite(*scale);
    if (!is_known) return std::nullopt;
    auto saturated = [&](double value) {
      return static_cast<int64_t>(
          std::clamp(value, static_cast<double>(all->low), static_cast<double>(all->high)));
    };
    const Reals reals = RealsOf(node.inputs[0]);
    const double low = std::ceil(reals.low / *scale - 0.5 - kQuotientError) + *zero;
    const double high = std::floor(reals.high / *scale + 0.5 + kQuotientError) + *zero;
    return ValueSet{std::min<int64_t>(saturated(low), 0), std::max<int64_t>(saturated(high), 0), 1};
  }

  const Graph& graph_;
  std::vector<int> producers_;
};

}  // namespace

std::optional<ValueSet> ValuesOfType(DType dtype) {
  const bool is_integer = IsPacked(dtype) || dtype.is_integer();
  if (!is_integer || dtype.bits() > 32) return std::nullopt;
  return ValueSet{MinValue(dtype), MaxValue(dtype), 1};
}

std::vector<std::optional<ValueSet>> ValueSetsOf(const Graph& graph, std::span<const ValueId> ids) {
  const Finder finder(graph);
  std::vector<std::optional<ValueSet>> sets;
  for (ValueId id : ids) sets.push_back(finder.Of(id));
  return sets;
}

}  // namespace tcc
