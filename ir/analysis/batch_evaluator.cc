#include "ir/analysis/batch_evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval_arithmetic.h"

namespace tcc {
namespace {

// Half of what doubles hold, so that quotient * divisor is exact too.
constexpr int64_t kExact = int64_t{1} << 52;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Points that go through the instructions together: the values of a thousand instructions stay in
// the second-level cache.
constexpr size_t kBlock = 64;

// The floor of a double of at most 2^52 in magnitude: beyond 2^52 doubles have no fractions, so
// that the sum is rounded to the nearest integer. A conversion to integers and back is no vector
// code.
inline double Floor(double x) {
  const double whole_numbers = std::copysign(static_cast<double>(kExact), x);
  const double nearest = (x + whole_numbers) - whole_numbers;
  return nearest - (nearest > x ? 1.0 : 0.0);
}

// The rounded quotient of two integers below 2^52 has the exact quotient's floor: a fraction is at
// least 1 / b away from the next integer, and half a unit in the last place is less.
inline double FloorQuotient(double a, double b) {
  return Floor(a / b);
}

template <ExprKind K>
inline double Apply(double a, double b) {
  if constexpr (K == ExprKind::kAdd) return a + b;
  if constexpr (K == ExprKind::kSub) return a - b;
  if constexpr (K == ExprKind::kMul) return a * b;
  if constexpr (K == ExprKind::kFloorDiv) return FloorQuotient(a, b);
  if constexpr (K == ExprKind::kFloorMod) return a - FloorQuotient(a, b) * b;
  if constexpr (K == ExprKind::kCeilDiv) return -FloorQuotient(-a, b);
  if constexpr (K == ExprKind::kMin) return a < b ? a : b;
  if constexpr (K == ExprKind::kMax) return a > b ? a : b;
  if constexpr (K == ExprKind::kEq) return a == b ? 1.0 : 0.0;
  if constexpr (K == ExprKind::kNe) return a != b ? 1.0 : 0.0;
  if constexpr (K == ExprKind::kLt) return a < b ? 1.0 : 0.0;
  if constexpr (K == ExprKind::kLe) return a <= b ? 1.0 : 0.0;
}

// What a op b can be; c counts for kSelect alone.
Interval ResultOf(ExprKind op, Interval a, Interval b, Interval c) {
  switch (op) {
    case ExprKind::kAdd:
      return a + b;
    case ExprKind::kSub:
      return a - b;
    case ExprKind::kMul:
      return a * b;
    case ExprKind::kFloorDiv:
      return FloorDivide(a, b);
    case ExprKind::kFloorMod:
      return FloorModulo(a, b);
    case ExprKind::kCeilDiv:
      return CeilDivide(a, b);
    case ExprKind::kMin:
      return MinOf(a, b);
    case ExprKind::kMax:
      return MaxOf(a, b);
    case ExprKind::kSelect:
      return Hull(b, c);
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
      return {0, 1};
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVarNode:
    case ExprKind::kCast:
    case ExprKind::kDiv:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
    case ExprKind::kLoad:
    case ExprKind::kCall:
    case ExprKind::kRamp:
    case ExprKind::kBroadcast:
      TCC_UNREACHABLE();
  }
  TCC_UNREACHABLE();
}

constexpr bool Divides(ExprKind kind) {
  return kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod || kind == ExprKind::kCeilDiv;
}

template <ExprKind K>
void ApplyAll(const double* a, const double* b, double* out, size_t count, bool checked) {
  if (!checked) {
    for (size_t i = 0; i < count; ++i) out[i] = Apply<K>(a[i], b[i]);
    return;
  }
  constexpr auto kLimit = static_cast<double>(kExact);
  for (size_t i = 0; i < count; ++i) {
    bool defined = a[i] == a[i] && b[i] == b[i] && (!Divides(K) || b[i] >= 1);
    double value = defined ? Apply<K>(a[i], b[i]) : kNaN;
    out[i] = std::abs(value) < kLimit ? value : kNaN;
  }
}

void SelectAll(const double* condition, const double* then_value, const double* else_value,
               double* out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double then_one = then_value[i], else_one = else_value[i];
    double picked = condition[i] != 0 ? then_one : else_one;
    out[i] = condition[i] == condition[i] ? picked : kNaN;
  }
}

}  // namespace

// Expressions to instructions, each distinct one once.
class BatchCompiler {
 public:
  BatchCompiler(std::span<const Expr> exprs, std::span<const Var> vars, const Bounds& bounds) {
    for (const Var& var : vars) {
      ids_.emplace(var.get(), static_cast<uint32_t>(ids_.size()));
      intervals_.push_back(BoundsOf(var, bounds));
      may_be_nan_.push_back(false);
    }
    program_.vars_ = vars.size();
    for (const Expr& expr : exprs) FindConstants(expr);
    for (const Expr& expr : exprs) {
      if (status_.ok()) program_.results_.push_back(Of(expr));
    }
  }

  StatusOr<BatchEvaluator> Finish() && {
    if (!status_.ok()) return status_;
    return std::move(program_);
  }

 private:
  using Instruction = BatchEvaluator::Instruction;

  uint32_t Fail(const std::string& what) {
    if (status_.ok()) status_ = InvalidInput("batch evaluation: {}", what);
    return 0;
  }

  // Constants come before all instructions, so that ids are final.
  void FindConstants(const Expr& root) {
    PreOrder(root, [&](const Expr& expr) {
      if (const auto* imm = expr.as<IntImm>()) AddConstant(imm->value);
    });
    AddConstant(0);
  }

  void AddConstant(int64_t value) {
    if (constants_.contains(value)) return;
    if (value >= kExact || value <= -kExact) {
      Fail(fmt::format("{} is not below 2^52", value));
      return;
    }
    constants_.emplace(value, static_cast<uint32_t>(intervals_.size()));
    intervals_.push_back(Interval::Point(value));
    may_be_nan_.push_back(false);
    program_.constants_.push_back(static_cast<double>(value));
  }

  uint32_t Of(const Expr& expr) {
    auto found = ids_.find(expr.get());
    if (found != ids_.end()) return found->second;
    bool known_type = expr.dtype() == kInt64 || expr.dtype() == kBool;
    uint32_t id = known_type ? VisitExpr(expr, [&](const auto& node) { return Visit(node); })
                             : Fail("a value of type " + ToString(expr.dtype()));
    ids_.emplace(expr.get(), id);
    return id;
  }

  uint32_t Visit(const IntImm& imm) { return constants_.at(imm.value); }
  uint32_t Visit(const VarNode& var) {
    return Fail("variable '" + var.name + "' is not among those of the points");
  }

  template <ExprKind K>
  uint32_t Visit(const Binary<K>& node) {
    uint32_t a = Of(node.a);
    uint32_t b = Of(node.b);
    if (K == ExprKind::kAnd) return Emit(ExprKind::kSelect, a, b, constants_.at(0));
    if (K == ExprKind::kOr) return EmitOr(a, b);
    return Emit(K, a, b, 0);
  }
  uint32_t Visit(const Div& node) { return Fail("division of type " + ToString(node.dtype)); }

  // a || b is a ? a : b, which does not look at b where a decides.
  uint32_t EmitOr(uint32_t a, uint32_t b) { return Emit(ExprKind::kSelect, a, a, b); }

  uint32_t Visit(const Not& node) { return Emit(ExprKind::kEq, Of(node.a), constants_.at(0), 0); }
  uint32_t Visit(const Select& node) {
    uint32_t condition = Of(node.condition);
    uint32_t then_value = Of(node.then_value);
    return Emit(ExprKind::kSelect, condition, then_value, Of(node.else_value));
  }
  uint32_t Visit(const Cast& node) {
    uint32_t value = Of(node.value);
    if (node.dtype != kBool) return value;
    return Emit(ExprKind::kNe, value, constants_.at(0), 0);
  }
  uint32_t Visit(const Call&) { return Fail("a call"); }
  uint32_t Visit(const Load&) { return Fail("a load"); }
  uint32_t Visit(const FloatImm&) { return Fail("a float"); }
  uint32_t Visit(const Ramp&) { return Fail("a vector"); }
  uint32_t Visit(const Broadcast&) { return Fail("a vector"); }

  bool NeedsCheck(ExprKind op, uint32_t a, uint32_t b, Interval result) const {
    if (may_be_nan_[a] || may_be_nan_[b]) return true;
    if (Divides(op) && intervals_[b].low < 1) return true;
    return result.low <= -kExact || result.high >= kExact;
  }

  uint32_t Emit(ExprKind op, uint32_t a, uint32_t b, uint32_t c) {
    bool commutes = op == ExprKind::kAdd || op == ExprKind::kMul || op == ExprKind::kMin ||
                    op == ExprKind::kMax || op == ExprKind::kEq || op == ExprKind::kNe;
    if (commutes && a > b) std::swap(a, b);
    auto [entry, is_new] = made_.try_emplace({op, a, b, c}, 0);
    if (!is_new) return entry->second;
    Interval interval = ResultOf(op, intervals_[a], intervals_[b], intervals_[c]);
    bool select = op == ExprKind::kSelect;
    bool checked = !select && NeedsCheck(op, a, b, interval);
    entry->second = static_cast<uint32_t>(intervals_.size());
    intervals_.push_back(interval);
    may_be_nan_.push_back(select ? may_be_nan_[a] || may_be_nan_[b] || may_be_nan_[c] : checked);
    program_.instructions_.push_back({op, checked, a, b, c});
    return entry->second;
  }

  BatchEvaluator program_;
  Status status_;
  std::unordered_map<const ExprNode*, uint32_t> ids_;
  std::map<int64_t, uint32_t> constants_;
  std::map<std::tuple<ExprKind, uint32_t, uint32_t, uint32_t>, uint32_t> made_;
  // By id: the values that are possible, and whether NaN is.
  std::vector<Interval> intervals_;
  std::vector<bool> may_be_nan_;
};

StatusOr<BatchEvaluator> BatchEvaluator::Compile(std::span<const Expr> exprs,
                                                 std::span<const Var> vars, const Bounds& bounds) {
  return BatchCompiler(exprs, vars, bounds).Finish();
}

size_t BatchEvaluator::checked_instructions() const {
  return static_cast<size_t>(std::count_if(instructions_.begin(), instructions_.end(),
                                           [](const Instruction& i) { return i.checked; }));
}

void BatchEvaluator::EvaluateBlock(const PointTable& points, size_t first, size_t count,
                                   std::span<double> values, PointTable& results) const {
  size_t width = std::min(kBlock, points.points());
  auto slot = [&](uint32_t id) { return &values[id * width]; };
  for (size_t v = 0; v < vars_; ++v) {
    std::copy_n(&points.column(v)[first], count, slot(static_cast<uint32_t>(v)));
  }
  auto out = static_cast<uint32_t>(vars_ + constants_.size());
  for (const Instruction& step : instructions_) {
    const double* a = slot(step.a);
    const double* b = slot(step.b);
    double* result = slot(out++);
    switch (step.op) {
#define TCC_BATCH_OP(kind)                                       \
  case ExprKind::kind:                                           \
    ApplyAll<ExprKind::kind>(a, b, result, count, step.checked); \
    break;
      TCC_BATCH_OP(kAdd)
      TCC_BATCH_OP(kSub)
      TCC_BATCH_OP(kMul)
      TCC_BATCH_OP(kFloorDiv)
      TCC_BATCH_OP(kFloorMod)
      TCC_BATCH_OP(kCeilDiv)
      TCC_BATCH_OP(kMin)
      TCC_BATCH_OP(kMax)
      TCC_BATCH_OP(kEq)
      TCC_BATCH_OP(kNe)
      TCC_BATCH_OP(kLt)
      TCC_BATCH_OP(kLe)
#undef TCC_BATCH_OP
      case ExprKind::kSelect:
        SelectAll(a, b, slot(step.c), result, count);
        break;
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm:
      case ExprKind::kVarNode:
      case ExprKind::kCast:
      case ExprKind::kDiv:
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kNot:
      case ExprKind::kLoad:
      case ExprKind::kCall:
      case ExprKind::kRamp:
      case ExprKind::kBroadcast:
        TCC_UNREACHABLE();
    }
  }
  for (size_t r = 0; r < results_.size(); ++r) {
    std::copy_n(slot(results_[r]), count, &results.column(r)[first]);
  }
}

PointTable BatchEvaluator::Evaluate(const PointTable& points) const {
  TCC_CHECK(points.columns() == vars_) << points.columns() << " columns for " << vars_;
  PointTable results(results_.size(), points.points());
  if (points.points() == 0) return results;
  size_t width = std::min(kBlock, points.points());
  size_t cells = (vars_ + constants_.size() + instructions_.size()) * width;
  auto room = std::make_unique_for_overwrite<double[]>(cells);
  std::span<double> values(room.get(), cells);
  for (size_t i = 0; i < constants_.size(); ++i) {
    std::fill_n(&values[(vars_ + i) * width], width, constants_[i]);
  }
  for (size_t first = 0; first < points.points(); first += kBlock) {
    EvaluateBlock(points, first, std::min(kBlock, points.points() - first), values, results);
  }
  return results;
}

std::vector<double> BatchEvaluator::EvaluateAt(std::span<const int64_t> point) const {
  PointTable points(vars_, 1);
  for (size_t v = 0; v < vars_; ++v) points.at(v, 0) = static_cast<double>(point[v]);
  PointTable results = Evaluate(points);
  std::vector<double> values;
  for (size_t r = 0; r < results_.size(); ++r) values.push_back(results.at(r, 0));
  return values;
}

}  // namespace tcc
