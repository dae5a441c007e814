#include <algorithm>

#include "graph/ops/node_lowering.h"
#include "graph/passes/symbolic_rules.h"
#include "ir/simplify/simplify.h"

// Arithmetic on vectors of dimensions, as exporters write it: a small tensor's elements as
// formulas.
namespace tcc {
namespace {

using Elements = std::optional<std::vector<Expr>>;

// Truncation is the floor where both are known not to be negative.
Expr Divided(const Expr& a, const Expr& b) {
  return Holds(a >= Expr(0)) && Holds(b >= Expr(1)) ? FloorDivide(a, b) : Expr();
}

Expr Remainder(const Expr& a, const Expr& b) {
  return Holds(a >= Expr(0)) && Holds(b >= Expr(1)) ? FloorModulo(a, b) : Expr();
}

Expr Sum(const Expr& a, const Expr& b) {
  return a + b;
}
Expr ProductOfTwo(const Expr& a, const Expr& b) {
  return a * b;
}

// 1 or 0 where the comparison is settled, else unknown.
Expr Settled(const Expr& condition) {
  Expr known = Simplify(condition);
  if (IsConstant(known, 1)) return Expr(1);
  return IsConstant(known, 0) ? Expr(0) : Expr();
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
    {OpKind::kMod, Remainder},
    {OpKind::kMin, MinOf},
    {OpKind::kMax, MaxOf},
    {OpKind::kEqual, [](const Expr& a, const Expr& b) { return Settled(Make<Eq>(a, b)); }},
    {OpKind::kLess, [](const Expr& a, const Expr& b) { return Settled(a < b); }},
    {OpKind::kGreater, [](const Expr& a, const Expr& b) { return Settled(b < a); }},
    {OpKind::kGreaterOrEqual, [](const Expr& a, const Expr& b) { return Settled(a >= b); }},
    {OpKind::kLessOrEqual, [](const Expr& a, const Expr& b) { return Settled(b >= a); }},
};

// Element i of an operand of one element or of `count`.
const Expr& At(const std::vector<Expr>& elements, size_t i) {
  return elements.size() == 1 ? elements[0] : elements[i];
}

Elements ElementByElement(const SymbolicOperands& operands, const BinaryRow& row, size_t count) {
  const std::vector<Expr>* a = operands.Elements(0);
  const std::vector<Expr>* b = operands.Elements(1);
  if (!a || !b || operands.values.size() != 2) return std::nullopt;
  if ((a->size() != 1 && a->size() != count) || (b->size() != 1 && b->size() != count)) {
    return std::nullopt;
  }
  std::vector<Expr> result;
  for (size_t i = 0; i < count; ++i) {
    const Expr& x = At(*a, i);
    const Expr& y = At(*b, i);
    result.push_back(x && y ? NormalForm(row.apply(x, y)) : Expr());
  }
  return result;
}

Elements Chosen(const SymbolicOperands& operands, size_t count) {
  std::vector<Expr> result;
  for (size_t input = 0; input < 3; ++input) {
    const std::vector<Expr>* elements = operands.Elements(input);
    if (!elements || (elements->size() != 1 && elements->size() != count)) return std::nullopt;
  }
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> condition = NumberOf(At(*operands.Elements(0), i));
    result.push_back(condition ? At(*operands.Elements(*condition != 0 ? 1 : 2), i) : Expr());
  }
  return result;
}

// A sum or product of all elements.
Elements Reduced(const SymbolicOperands& operands, Expr (*combine)(const Expr&, const Expr&),
                 int64_t unit) {
  Expr total = unit;
  for (const Expr& element : *operands.Elements(0)) {
    total = total && element ? NormalForm(combine(total, element)) : Expr();
  }
  return std::vector<Expr>{total};
}

Elements Picked(const SymbolicOperands& operands) {
  const std::vector<Expr>& data = *operands.Elements(0);
  std::optional<std::vector<int64_t>> indices = operands.Ints(1);
  if (!indices || operands.Shape(0)->size() != 1) return std::nullopt;
  std::vector<Expr> result;
  auto count = static_cast<int64_t>(data.size());
  for (int64_t index : *indices) {
    if (index < 0) index += count;
    if (index < 0 || index >= count) return std::nullopt;
    result.push_back(data[index]);
  }
  return result;
}

Elements SlicedVector(const SymbolicOperands& operands) {
  const std::vector<Expr>& data = *operands.Elements(0);
  auto count = static_cast<int64_t>(data.size());
  std::optional<std::vector<int64_t>> start = operands.Ints(1);
  std::optional<std::vector<int64_t>> end = operands.Ints(2);
  std::optional<std::vector<int64_t>> step = std::vector<int64_t>{1};
  if (operands.Has(4)) step = operands.Ints(4);
  if (!start || !end || !step || operands.Shape(0)->size() != 1 || start->size() != 1 ||
      end->size() != 1 || step->size() != 1 || (*step)[0] == 0) {
    return std::nullopt;
  }
  bool forward = (*step)[0] > 0;
  auto clamped = [&](int64_t position) {
    if (position < 0) position += count;
    return forward ? std::clamp<int64_t>(position, 0, count)
                   : std::clamp<int64_t>(position, -1, count - 1);
  };
  std::vector<Expr> result;
  int64_t last = clamped((*end)[0]);
  for (int64_t i = clamped((*start)[0]); forward ? i < last : i > last; i += (*step)[0]) {
    result.push_back(data[i]);
  }
  return result;
}

Elements Joined(const SymbolicOperands& operands) {
  std::vector<Expr> result;
  for (size_t i = 0; i < operands.values.size(); ++i) {
    const std::vector<Expr>* elements = operands.Elements(i);
    if (elements) {
      result.insert(result.end(), elements->begin(), elements->end());
      continue;
    }
    const std::vector<Expr>* shape = operands.Shape(i);
    std::optional<int64_t> count =
        shape && shape->size() == 1 ? NumberOf((*shape)[0]) : std::nullopt;
    if (!count || *count > kMaxSymbolicElements) return std::nullopt;
    result.resize(result.size() + *count);
  }
  return result;
}

Elements Dimensions(const SymbolicOperands& operands) {
  const std::vector<Expr>* dims = operands.Shape(0);
  if (!dims) return std::nullopt;
  auto rank = static_cast<int64_t>(dims->size());
  auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t begin = clamped(operands.node.Int("start", 0));
  int64_t end = std::max(begin, clamped(operands.node.Int("end", rank)));
  return std::vector<Expr>(dims->begin() + begin, dims->begin() + end);
}

Elements Counted(const SymbolicOperands& operands) {
  const std::vector<Expr>* dims = operands.Shape(0);
  if (!dims || std::ranges::any_of(*dims, [](const Expr& dim) { return !dim; })) {
    return std::nullopt;
  }
  return std::vector<Expr>{NormalForm(Product(*dims))};
}

Elements Filled(const SymbolicOperands& operands, size_t count) {
  auto value = operands.node.attributes.find("value");
  if (value == operands.node.attributes.end()) return std::nullopt;
  const auto* tensor = std::get_if<Tensor>(&value->second);
  if (!tensor || tensor->dtype.is_float()) return std::nullopt;
  return std::vector<Expr>(count, Expr(ElementAsInt(*tensor, 0)));
}

Elements Counting(const SymbolicOperands& operands, size_t count) {
  const std::vector<Expr>* start = operands.Elements(0);
  const std::vector<Expr>* step = operands.Elements(2);
  if (!start || !step || !(*start)[0] || !(*step)[0]) return std::nullopt;
  std::vector<Expr> result;
  for (size_t i = 0; i < count; ++i) {
    result.push_back(NormalForm((*start)[0] + (*step)[0] * Expr(static_cast<int64_t>(i))));
  }
  return result;
}

// The same elements in the same order.
bool Keeps(OpKind op) {
  constexpr OpKind kOps[] = {OpKind::kIdentity, OpKind::kCast,      OpKind::kReshape,
                             OpKind::kSqueeze,  OpKind::kUnsqueeze, OpKind::kFlatten};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace

Elements SymbolicElements(const SymbolicOperands& operands, const std::vector<Expr>& shape) {
  int64_t count = 1;
  for (const Expr& dim : shape) {
    std::optional<int64_t> extent = NumberOf(dim);
    if (!extent || *extent * count > kMaxSymbolicElements) return std::nullopt;
    count *= *extent;
  }
  OpKind op = operands.node.op;
  auto size = static_cast<size_t>(count);
  Elements result;
  if (op == OpKind::kShape) result = Dimensions(operands);
  if (op == OpKind::kSize) result = Counted(operands);
  if (op == OpKind::kConstantOfShape) result = Filled(operands, size);
  if (op == OpKind::kConcat && shape.size() == 1) result = Joined(operands);
  if (op == OpKind::kRange) result = Counting(operands, size);
  if (op == OpKind::kWhere) result = Chosen(operands, size);
  for (const BinaryRow& row : kBinary) {
    if (row.op == op) result = ElementByElement(operands, row, size);
  }
  const std::vector<Expr>* first = operands.Elements(0);
  if (first) {
    if (Keeps(op)) result = *first;
    if (op == OpKind::kGather) result = Picked(operands);
    if (op == OpKind::kSlice) result = SlicedVector(operands);
    if (op == OpKind::kExpand && first->size() == 1) result = std::vector<Expr>(size, (*first)[0]);
    if (op == OpKind::kReduceProd && size == 1) result = Reduced(operands, ProductOfTwo, 1);
    if (op == OpKind::kReduceSum && size == 1) result = Reduced(operands, Sum, 0);
    if (op == OpKind::kNeg) {
      result = *first;
      for (Expr& element : *result) element = element ? NormalForm(Expr(0) - element) : Expr();
    }
  }
  return result && result->size() == size ? result : std::nullopt;
}

}  // namespace tcc
