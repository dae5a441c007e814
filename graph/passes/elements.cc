#include "graph/passes/elements.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/ops/node_lowering.h"
#include "graph/ops/normal_form.h"
#include "graph/ops/op_lowering.h"
#include "graph/passes/real_sizes.h"
#include "ir/expr/visitor.h"
#include "ir/graph/constants.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

// nullopt: at least one element is unknown.
using Elements = std::optional<std::vector<Expr>>;

// The longest formula that is kept, in nodes of its text. Arithmetic that uses each result twice
// doubles it at every step.
constexpr double kMaxFormulaSize = 256;

bool Holds(const Expr& condition) {
  return IsConstant(Simplify(condition), 1);
}

// Returns a divisor, taken to be at least 1, for a quotient by 0 has no meaning. Null, as an
// unknown element is, where it may be negative.
Expr Divisor(const Expr& b) {
  if (Holds(b >= Expr(1))) return b;
  return Holds(b >= Expr(0)) ? MaxOf(b, Expr(1)) : Expr();
}
Expr Divided(const Expr& a, const Expr& b) {
  Expr divisor = Divisor(b);
  if (!divisor) return {};
  Expr floor = FloorDivide(a, divisor);
  if (Holds(a >= Expr(0))) return floor;
  return SelectOf(a < Expr(0), Expr(0) - FloorDivide(Expr(0) - a, divisor), floor);
}
Expr Modulo(const Expr& a, const Expr& b) {
  Expr divisor = Divisor(b);
  return divisor ? FloorModulo(a, divisor) : Expr();
}
Expr Remainder(const Expr& a, const Expr& b) {
  Expr divisor = Divisor(b);
  if (!divisor) return {};
  Expr modulo = FloorModulo(a, divisor);
  if (Holds(a >= Expr(0))) return modulo;
  return SelectOf(a < Expr(0), Expr(0) - FloorModulo(Expr(0) - a, divisor), modulo);
}
Expr Sum(const Expr& a, const Expr& b) {
  return a + b;
}
Expr ProductOfTwo(const Expr& a, const Expr& b) {
  return a * b;
}
Expr Truth(const Expr& condition) {
  return SelectOf(condition, Expr(1), Expr(0));
}
Expr IsTrue(const Expr& element) {
  return Make<Ne>(element, Expr(0));
}

struct BinaryRow {
  OpKind op;
  Expr (*apply)(const Expr& a, const Expr& b);
};

constexpr BinaryRow kBinary[] = {
    {OpKind::kAdd, Sum},
    {OpKind::kSub, [](const Expr& a, const Expr& b) { return a - b; }},
    {OpKind::kMul, ProductOfTwo},
    {OpKind::kDiv, Divided},
    {OpKind::kMod, Modulo},
    {OpKind::kMin, MinOf},
    {OpKind::kMax, MaxOf},
    {OpKind::kEqual, [](const Expr& a, const Expr& b) { return Truth(Make<Eq>(a, b)); }},
    {OpKind::kLess, [](const Expr& a, const Expr& b) { return Truth(a < b); }},
    {OpKind::kGreater, [](const Expr& a, const Expr& b) { return Truth(b < a); }},
    {OpKind::kGreaterOrEqual, [](const Expr& a, const Expr& b) { return Truth(a >= b); }},
    {OpKind::kLessOrEqual, [](const Expr& a, const Expr& b) { return Truth(a <= b); }},
    {OpKind::kAnd,
     [](const Expr& a, const Expr& b) { return Truth(BothOf(IsTrue(a), IsTrue(b))); }},
    {OpKind::kOr,
     [](const Expr& a, const Expr& b) { return Truth(EitherOf(IsTrue(a), IsTrue(b))); }},
    {OpKind::kXor, [](const Expr& a, const Expr& b) { return Truth(Make<Ne>(a, b)); }},
};

constexpr BinaryRow kRemainder = {OpKind::kMod, Remainder};  // with C's sign

struct ReductionRow {
  OpKind op;
  Expr (*combine)(const Expr& a, const Expr& b);
};

constexpr ReductionRow kReductions[] = {
    {OpKind::kReduceProd, ProductOfTwo},
    {OpKind::kReduceSum, Sum},
    {OpKind::kReduceMin, MinOf},
    {OpKind::kReduceMax, MaxOf},
};

// The same elements in the same order.
bool Keeps(OpKind op) {
  constexpr OpKind kOps[] = {OpKind::kIdentity, OpKind::kCast,      OpKind::kReshape,
                             OpKind::kSqueeze,  OpKind::kUnsqueeze, OpKind::kFlatten};
  return std::ranges::find(kOps, op) != std::end(kOps);
}

bool IsWhole(DType dtype) {
  return (dtype.is_integer() || dtype.is_bool()) && !dtype.is_storage_only();
}

// The number of elements of a shape; nullopt for a free one and more than kMaxKnownElements.
std::optional<int64_t> CountOf(const std::vector<Expr>& shape) {
  std::optional<std::vector<int64_t>> numbers = AsNumbers(shape);
  if (!numbers) return std::nullopt;
  StatusOr<int64_t> count = ElementCount(*numbers);
  return count.ok() && *count <= kMaxKnownElements ? std::optional(*count) : std::nullopt;
}

Elements KnownElements(const Graph& graph, ValueId id) {
  if (id == kNoValue) return std::nullopt;
  const Value& value = graph.value(id);
  if (!IsWhole(value.dtype)) return std::nullopt;
  if (!value.elements.empty()) return value.elements;
  std::optional<int64_t> count = CountOf(value.shape);
  if (!value.constant || !count) return std::nullopt;
  std::vector<Expr> elements;
  for (int64_t i = 0; i < *count; ++i) elements.push_back(Expr(ElementAsInt(*value.constant, i)));
  return elements;
}

// The elements of one node's result.
class ElementRules {
 public:
  ElementRules(const Graph& graph, const Node& node, size_t count)
      : graph_(graph), node_(node), count_(count) {
    for (ValueId id : node.inputs) operands_.push_back(KnownElements(graph, id));
  }

  Elements Result() const {
    OpKind op = node_.op;
    if (op == OpKind::kShape) return Dimensions();
    if (op == OpKind::kSize) return std::vector<Expr>{Product(ShapeOf(0))};
    if (op == OpKind::kConstantOfShape) return Filled();
    if (op == OpKind::kConcat) return Joined();
    if (op == OpKind::kRange) return Counting();
    if (op == OpKind::kWhere) return Chosen();
    if (op == OpKind::kMod && node_.Int("fmod", 0) == 1) return ElementByElement(kRemainder);
    for (const BinaryRow& row : kBinary) {
      if (row.op == op) return ElementByElement(row);
    }
    if (op == OpKind::kCast && graph_.value(node_.inputs[0]).dtype.is_float()) return Truncated();
    if (!Has(0)) return std::nullopt;
    for (const ReductionRow& row : kReductions) {
      if (row.op == op) return Reduced(row);
    }
    if (Keeps(op)) return Kept();
    if (op == OpKind::kGather) return Picked();
    if (op == OpKind::kSlice) return Sliced();
    if (op == OpKind::kTranspose) return Transposed();
    if (op == OpKind::kExpand) return Repeated();
    if (op == OpKind::kNeg) return Negated();
    if (op == OpKind::kNot) return Inverted();
    return std::nullopt;
  }

 private:
  bool Has(size_t input) const { return input < operands_.size() && operands_[input].has_value(); }
  const std::vector<Expr>& Operand(size_t input) const { return *operands_[input]; }
  const std::vector<Expr>& ShapeOf(size_t input) const {
    return graph_.value(node_.inputs[input]).shape;
  }
  std::optional<std::vector<int64_t>> Numbers(size_t input) const {
    return Has(input) ? AsNumbers(Operand(input)) : std::nullopt;
  }

  // Returns whether the operand has one element or `count_`.
  bool Spreads(size_t input) const {
    return Has(input) && (Operand(input).size() == 1 || Operand(input).size() == count_);
  }
  const Expr& At(size_t input, size_t i) const {
    return Operand(input).size() == 1 ? Operand(input)[0] : Operand(input)[i];
  }

  Elements Dimensions() const {
    const std::vector<Expr>& dims = ShapeOf(0);
    auto rank = static_cast<int64_t>(dims.size());
    auto clamped = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    int64_t begin = clamped(node_.Int("start", 0));
    int64_t end = std::max(begin, clamped(node_.Int("end", rank)));
    return std::vector<Expr>(dims.begin() + begin, dims.begin() + end);
  }

  Elements Filled() const {
    auto value = node_.attributes.find("value");
    if (value == node_.attributes.end()) return std::nullopt;
    const auto* tensor = std::get_if<Tensor>(&value->second);
    if (!tensor || !IsWhole(tensor->dtype)) return std::nullopt;
    return std::vector<Expr>(count_, Expr(ElementAsInt(*tensor, 0)));
  }

  Elements Joined() const {
    if (ShapeOf(0).size() != 1) return std::nullopt;
    std::vector<Expr> result;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!Has(i)) return std::nullopt;
      result.insert(result.end(), Operand(i).begin(), Operand(i).end());
    }
    return result;
  }

  Elements Counting() const {
    if (!Has(0) || !Has(2)) return std::nullopt;
    std::vector<Expr> result;
    for (size_t i = 0; i < count_; ++i) {
      result.push_back(At(0, 0) + At(2, 0) * Expr(static_cast<int64_t>(i)));
    }
    return result;
  }

  Elements Chosen() const {
    if (!Spreads(0) || !Spreads(1) || !Spreads(2)) return std::nullopt;
    std::vector<Expr> result;
    for (size_t i = 0; i < count_; ++i) {
      std::optional<int64_t> condition = AsConstant(At(0, i));
      result.push_back(condition ? At(*condition != 0 ? 1 : 2, i)
                                 : SelectOf(IsTrue(At(0, i)), At(1, i), At(2, i)));
    }
    return result;
  }

  Elements ElementByElement(const BinaryRow& row) const {
    if (operands_.size() != 2 || !Spreads(0) || !Spreads(1)) return std::nullopt;
    std::vector<Expr> result;
    for (size_t i = 0; i < count_; ++i) result.push_back(row.apply(At(0, i), At(1, i)));
    return result;
  }

  Elements Reduced(const ReductionRow& row) const {
    const std::vector<Expr>& elements = Operand(0);
    if (count_ != 1 || elements.empty()) return std::nullopt;
    Expr total = elements[0];
    for (size_t i = 1; i < elements.size(); ++i) total = row.combine(total, elements[i]);
    return std::vector<Expr>{total};
  }

  // A cast to bool makes 1 of all but 0; one to fewer bits wraps, which no formula here says.
  Elements Kept() const {
    DType from = graph_.value(node_.inputs[0]).dtype;
    DType to = graph_.value(node_.outputs[0]).dtype;
    if (from == to) return Operand(0);
    std::vector<Expr> result;
    for (const Expr& element : Operand(0)) {
      if (to.is_bool()) {
        result.push_back(Truth(IsTrue(element)));
      } else {
        Interval bounds = BoundsOf(Simplify(element), {});
        bool fits = bounds.low >= 0 && bounds.high <= INT32_MAX && to.bits() >= 32;
        if (!fits && to.bits() < from.bits()) return std::nullopt;
        result.push_back(element);
      }
    }
    return result;
  }

  Elements Truncated() const {
    DType to = graph_.value(node_.outputs[0]).dtype;
    std::vector<Expr> sizes = WholeSizes(graph_, node_.inputs[0]);
    return sizes.empty() || to.bits() < 32 ? Elements() : Elements(std::move(sizes));
  }

  Elements Picked() const {
    std::optional<std::vector<int64_t>> indices = Numbers(1);
    if (!indices || ShapeOf(0).size() != 1) return std::nullopt;
    auto count = static_cast<int64_t>(Operand(0).size());
    std::vector<Expr> result;
    for (int64_t index : *indices) {
      if (index < 0) index += count;
      if (index < 0 || index >= count) return std::nullopt;
      result.push_back(Operand(0)[index]);
    }
    return result;
  }

  // Returns the elements at `base` plus the strides times a place of the result, in its order.
  Elements Strided(int64_t base, const std::vector<int64_t>& strides) const {
    const std::vector<Expr>& dims = graph_.value(node_.outputs[0]).shape;
    std::vector<Expr> result;
    for (size_t i = 0; i < count_; ++i) {
      auto rest = static_cast<int64_t>(i);
      int64_t from = base;
      for (size_t d = dims.size(); d > 0; --d) {
        int64_t extent = *AsConstant(dims[d - 1]);
        from += rest % extent * strides[d - 1];
        rest /= extent;
      }
      result.push_back(Operand(0)[from]);
    }
    return result;
  }

  std::vector<int64_t> StridesOf(const std::vector<int64_t>& shape) const {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * shape[d - 1];
    return strides;
  }

  Elements Sliced() const {
    auto listed = [&](size_t input, std::vector<int64_t> otherwise) {
      bool is_given = input < node_.inputs.size() && node_.inputs[input] != kNoValue;
      return is_given ? Numbers(input) : std::optional(std::move(otherwise));
    };
    std::vector<int64_t> shape = *AsNumbers(ShapeOf(0));
    std::optional<std::vector<int64_t>> start = Numbers(1);
    if (!start) return std::nullopt;
    std::vector<int64_t> all(start->size());
    std::iota(all.begin(), all.end(), 0);
    std::optional<std::vector<int64_t>> axes = listed(3, all);
    std::optional<std::vector<int64_t>> steps = listed(4, std::vector<int64_t>(start->size(), 1));
    if (!axes || !steps) return std::nullopt;
    std::vector<int64_t> strides = StridesOf(shape);
    int64_t base = 0;
    for (size_t i = 0; i < start->size(); ++i) {
      int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + static_cast<int64_t>(shape.size()) : (*axes)[i];
      int64_t extent = shape[axis];
      int64_t begin = (*start)[i] < 0 ? (*start)[i] + extent : (*start)[i];
      begin = std::clamp<int64_t>(begin, 0, extent - ((*steps)[i] < 0 ? 1 : 0));
      base += begin * strides[axis];
      strides[axis] *= (*steps)[i];
    }
    return Strided(base, strides);
  }

  Elements Transposed() const {
    std::vector<int64_t> strides = StridesOf(*AsNumbers(ShapeOf(0)));
    std::vector<int64_t> perm = node_.Ints("perm");
    for (size_t d = perm.size(); d < strides.size(); ++d) {
      perm.push_back(static_cast<int64_t>(strides.size() - 1 - d));
    }
    std::vector<int64_t> moved;
    for (int64_t axis : perm) moved.push_back(strides[axis]);
    return Strided(0, moved);
  }

  Elements Repeated() const {
    if (Operand(0).size() != 1) return std::nullopt;
    return std::vector<Expr>(count_, Operand(0)[0]);
  }

  Elements Negated() const {
    std::vector<Expr> result;
    for (const Expr& element : Operand(0)) result.push_back(Expr(0) - element);
    return result;
  }

  Elements Inverted() const {
    std::vector<Expr> result;
    for (const Expr& element : Operand(0)) result.push_back(Truth(Make<Eq>(element, Expr(0))));
    return result;
  }

  const Graph& graph_;
  const Node& node_;
  size_t count_;
  std::vector<Elements> operands_;
};

}  // namespace

std::vector<Expr> ElementsOf(const Graph& graph, const Node& node) {
  const Value& value = graph.value(node.outputs[0]);
  std::optional<int64_t> count = CountOf(value.shape);
  if (!IsWhole(value.dtype) || !count || *count == 0) return {};
  Elements result = ElementRules(graph, node, static_cast<size_t>(*count)).Result();
  if (!result || static_cast<int64_t>(result->size()) != *count) return {};
  for (Expr& element : *result) {
    if (!element) return {};
    element = NormalForm(graph, element);
    if (WrittenSize(element) > kMaxFormulaSize) return {};
  }
  return *std::move(result);
}

bool ReadsElements(const Graph& graph, const Node& node, ValueId input) {
  if (graph.value(input).elements.empty()) return true;
  if (!node.bodies.empty()) {
    size_t first_read = node.op == OpKind::kLoop ? 1 : 0;
    return std::find(node.inputs.begin() + first_read, node.inputs.end(), input) !=
           node.inputs.end();
  }
  StatusOr<LoweredNode> lowered = LowerNode(graph, node);
  return !lowered.ok() || std::ranges::find(lowered->inputs, input) != lowered->inputs.end();
}

Tensor TensorOfInts(DType dtype, const std::vector<int64_t>& shape,
                    const std::vector<int64_t>& elements) {
  Tensor tensor = MakeZeroTensor(dtype, shape);
  for (size_t i = 0; i < elements.size(); ++i) {
    SetElementInt(tensor, static_cast<int64_t>(i), elements[i]);
  }
  return tensor;
}

}  // namespace tcc
