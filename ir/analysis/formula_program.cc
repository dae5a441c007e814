#include "ir/analysis/formula_program.h"

#include <absl/container/flat_hash_map.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval_arithmetic.h"

namespace tcc {
namespace {

// Half the limit of exact integers in doubles, so that quotient * divisor is exact too.
constexpr int64_t kExact = int64_t{1} << 52;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// TCC_FOR_ANY_VECTORS compiles a function for wider vectors too; results are the same, as no
// product and sum are fused. TCC_BY_SINGLE_VECTORS keeps a loop from taking several vectors at a
// time: there are few points. Code that a sanitizer watches has no vectors.
#if defined(__x86_64__) && defined(__clang__)
#if !__has_feature(address_sanitizer) && !__has_feature(coverage_sanitizer)
#define TCC_FOR_ANY_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#define TCC_BY_SINGLE_VECTORS _Pragma("clang loop vectorize_width(8) interleave_count(1)")
#endif
#endif
#ifndef TCC_FOR_ANY_VECTORS
#define TCC_FOR_ANY_VECTORS
#define TCC_BY_SINGLE_VECTORS
#endif

// Returns the floor of a double of at most 2^52 in magnitude. Beyond 2^52 doubles have no
// fractions, so the sum is rounded to the nearest integer. A conversion to integers and back would
// not vectorize.
inline double Floor(double x) {
  const double whole_numbers = std::copysign(static_cast<double>(kExact), x);
  const double nearest = (x + whole_numbers) - whole_numbers;
  return nearest - (nearest > x ? 1.0 : 0.0);
}

// Returns the floor of a / b for integers below 2^52. The rounded quotient has the exact quotient's
// floor: a fraction is at least 1 / b below the next integer, and half a unit in the last place is
// less.
inline double FloorQuotient(double a, double b) {
  return Floor(a / b);
}

// Returns a or b; a where it is NaN. A comparison with NaN fails, so a NaN b is picked.
inline double Pick(bool pick_a, double a, double b) {
  const double picked = pick_a ? a : b;
  return a == a ? picked : a;
}

template <FormulaOp Op>
inline double Apply(double a, double b) {
  if constexpr (Op == FormulaOp::kAdd) return a + b;
  if constexpr (Op == FormulaOp::kSub) return a - b;
  if constexpr (Op == FormulaOp::kMul) return a * b;
  if constexpr (Op == FormulaOp::kDiv) return a / b;
  if constexpr (Op == FormulaOp::kFloorDiv) return FloorQuotient(a, b);
  if constexpr (Op == FormulaOp::kFloorMod) return a - FloorQuotient(a, b) * b;
  if constexpr (Op == FormulaOp::kCeilDiv) return -FloorQuotient(-a, b);
  if constexpr (Op == FormulaOp::kMin) return Pick(a < b, a, b);
  if constexpr (Op == FormulaOp::kMax) return Pick(a > b, a, b);
  if constexpr (Op == FormulaOp::kEq) return a == b ? 1.0 : 0.0;
  if constexpr (Op == FormulaOp::kNe) return a != b ? 1.0 : 0.0;
  if constexpr (Op == FormulaOp::kLt) return a < b ? 1.0 : 0.0;
  if constexpr (Op == FormulaOp::kLe) return a <= b ? 1.0 : 0.0;
}

constexpr bool Divides(FormulaOp op) {
  return op == FormulaOp::kFloorDiv || op == FormulaOp::kFloorMod || op == FormulaOp::kCeilDiv;
}

template <FormulaOp Op>
[[gnu::always_inline]] inline void ApplyAll(const double* a, const double* b,
                                            double* __restrict out, size_t count, bool checked) {
  if (!checked) {
    TCC_BY_SINGLE_VECTORS
    for (size_t i = 0; i < count; ++i) out[i] = Apply<Op>(a[i], b[i]);
    return;
  }
  constexpr auto kLimit = static_cast<double>(kExact);
  TCC_BY_SINGLE_VECTORS
  for (size_t i = 0; i < count; ++i) {
    bool defined = a[i] == a[i] && b[i] == b[i] && (!Divides(Op) || b[i] >= 1);
    double value = defined ? Apply<Op>(a[i], b[i]) : kNaN;
    out[i] = std::abs(value) < kLimit ? value : kNaN;
  }
}

[[gnu::always_inline]] inline void SelectAll(const double* condition, const double* then_value,
                                             const double* else_value, double* __restrict out,
                                             size_t count) {
  TCC_BY_SINGLE_VECTORS
  for (size_t i = 0; i < count; ++i) {
    const double then_one = then_value[i], else_one = else_value[i];
    double picked = condition[i] != 0 ? then_one : else_one;
    out[i] = condition[i] == condition[i] ? picked : kNaN;
  }
}

template <typename F>
[[gnu::always_inline]] inline void MapAll(F f, const double* a, double* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = f(a[i]);
}

// Returns the range of an integer a op b, or of a choice between b and c.
Interval ResultOf(FormulaOp op, Interval a, Interval b, Interval c) {
  switch (op) {
    case FormulaOp::kAdd:
      return a + b;
    case FormulaOp::kSub:
      return a - b;
    case FormulaOp::kMul:
      return a * b;
    case FormulaOp::kFloorDiv:
      return FloorDivide(a, b);
    case FormulaOp::kFloorMod:
      return FloorModulo(a, b);
    case FormulaOp::kCeilDiv:
      return CeilDivide(a, b);
    case FormulaOp::kMin:
      return MinOf(a, b);
    case FormulaOp::kMax:
      return MaxOf(a, b);
    case FormulaOp::kSelect:
    case FormulaOp::kSelectReal:
      return Hull(b, c);
    case FormulaOp::kEq:
    case FormulaOp::kNe:
    case FormulaOp::kLt:
    case FormulaOp::kLe:
      return {0, 1};
    case FormulaOp::kDiv:
    case FormulaOp::kExp:
    case FormulaOp::kLog:
    case FormulaOp::kLog1p:
    case FormulaOp::kSqrt:
      return {};
  }
  TCC_UNREACHABLE();
}

std::optional<FormulaOp> OpOf(ExprKind kind) {
  switch (kind) {
#define TCC_FORMULA_KIND(kind) \
  case ExprKind::kind:         \
    return FormulaOp::kind;
    TCC_FORMULA_KIND(kAdd)
    TCC_FORMULA_KIND(kSub)
    TCC_FORMULA_KIND(kMul)
    TCC_FORMULA_KIND(kDiv)
    TCC_FORMULA_KIND(kFloorDiv)
    TCC_FORMULA_KIND(kFloorMod)
    TCC_FORMULA_KIND(kCeilDiv)
    TCC_FORMULA_KIND(kMin)
    TCC_FORMULA_KIND(kMax)
    TCC_FORMULA_KIND(kEq)
    TCC_FORMULA_KIND(kNe)
    TCC_FORMULA_KIND(kLt)
    TCC_FORMULA_KIND(kLe)
#undef TCC_FORMULA_KIND
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVarNode:
    case ExprKind::kCast:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
    case ExprKind::kSelect:
    case ExprKind::kLoad:
    case ExprKind::kCall:
    case ExprKind::kRamp:
    case ExprKind::kBroadcast:
      return std::nullopt;
  }
  TCC_UNREACHABLE();
}

std::optional<FormulaOp> OpOf(ScalarOp op) {
  if (op == ScalarOp::kExp) return FormulaOp::kExp;
  if (op == ScalarOp::kLog) return FormulaOp::kLog;
  if (op == ScalarOp::kLog1p) return FormulaOp::kLog1p;
  if (op == ScalarOp::kSqrt) return FormulaOp::kSqrt;
  return std::nullopt;
}

constexpr bool Commutes(FormulaOp op) {
  return op == FormulaOp::kAdd || op == FormulaOp::kMul || op == FormulaOp::kMin ||
         op == FormulaOp::kMax || op == FormulaOp::kEq || op == FormulaOp::kNe;
}

// The first instruction's number until all constants are known.
constexpr uint32_t kFirstInstruction = uint32_t{1} << 31;

// A compiler of expressions to distinct instructions.
class FormulaCompiler {
 public:
  FormulaCompiler(std::span<const Expr> exprs, std::span<const Var> vars, const Bounds& bounds) {
    for (const Var& var : vars) {
      ids_.emplace(var.get(), static_cast<uint32_t>(ids_.size()));
      inputs_.push_back({var.dtype().is_float() ? Interval{} : BoundsOf(var, bounds), false});
    }
    program_.vars = vars.size();
    for (const Expr& expr : exprs) {
      if (status_.ok()) program_.results.push_back(Of(expr));
    }
  }

  StatusOr<FormulaProgram> Finish() && {
    if (!status_.ok()) return status_;
    auto number = [&](uint32_t& id) {
      if (id >= kFirstInstruction) {
        id = id - kFirstInstruction + static_cast<uint32_t>(inputs_.size());
      }
    };
    for (FormulaProgram::Instruction& step : program_.instructions) {
      for (uint32_t* id : {&step.a, &step.b, &step.c}) number(*id);
    }
    for (uint32_t& id : program_.results) number(id);
    return std::move(program_);
  }

 private:
  // The facts about a value that hold at every point. An f64 has no interval unless it is an
  // integer that an instruction on i64 would have computed as well.
  struct Known {
    Interval interval;
    bool may_be_nan;
  };

  uint32_t Fail(const std::string& what) {
    if (status_.ok()) status_ = InvalidInput("batch evaluation: {}", what);
    return Constant(0);
  }

  const Known& At(uint32_t id) const {
    return id < kFirstInstruction ? inputs_[id] : made_[id - kFirstInstruction];
  }
  std::optional<double> ConstantAt(uint32_t id) const {
    bool constant = id >= program_.vars && id < kFirstInstruction;
    return constant ? std::optional(program_.constants[id - program_.vars]) : std::nullopt;
  }

  uint32_t Constant(double value) {
    auto id = static_cast<uint32_t>(inputs_.size());
    auto [entry, is_new] = constants_.try_emplace(std::bit_cast<uint64_t>(value), id);
    if (!is_new) return entry->second;
    bool exact = std::abs(value) < static_cast<double>(kExact) && value == Floor(value);
    Interval interval = exact ? Interval::Point(static_cast<int64_t>(value)) : Interval{};
    inputs_.push_back({interval, std::isnan(value)});
    program_.constants.push_back(value);
    return id;
  }

  uint32_t Of(const Expr& expr) {
    auto found = ids_.find(expr.get());
    if (found != ids_.end()) return found->second;
    DType type = expr.dtype();
    bool known_type = type == kInt64 || type == kBool || type == kFloat64;
    uint32_t id = known_type ? VisitExpr(expr, [&](const auto& node) { return Visit(node); })
                             : Fail("a value of type " + ToString(type));
    ids_.emplace(expr.get(), id);
    return id;
  }

  uint32_t Visit(const IntImm& imm) {
    bool exact = imm.value < kExact && imm.value > -kExact;
    if (!exact) return Fail(fmt::format("{} is not below 2^52", imm.value));
    return Constant(static_cast<double>(imm.value));
  }
  uint32_t Visit(const FloatImm& imm) { return Constant(imm.value); }
  uint32_t Visit(const VarNode& var) {
    return Fail("variable '" + var.name + "' is not among those of the points");
  }

  template <ExprKind K>
  uint32_t Visit(const Binary<K>& node) {
    uint32_t a = Of(node.a);
    // a && b is a ? b : 0, and a || b is a ? a : b: where a decides, b is not used.
    if (K == ExprKind::kAnd) {
      return Choose(FormulaOp::kSelect, a, [&] { return Of(node.b); }, [&] { return Constant(0); });
    }
    if (K == ExprKind::kOr) {
      return Choose(FormulaOp::kSelect, a, [&] { return a; }, [&] { return Of(node.b); });
    }
    return Emit(OpOf(K).value(), node.dtype == kFloat64, a, Of(node.b));
  }

  uint32_t Visit(const Not& node) { return Emit(FormulaOp::kEq, false, Of(node.a), Constant(0)); }
  uint32_t Visit(const Select& node) {
    FormulaOp op = node.dtype == kFloat64 ? FormulaOp::kSelectReal : FormulaOp::kSelect;
    return Choose(
        op, Of(node.condition), [&] { return Of(node.then_value); },
        [&] { return Of(node.else_value); });
  }
  uint32_t Visit(const Cast& node) {
    uint32_t value = Of(node.value);
    if (node.dtype == kBool) return Emit(FormulaOp::kNe, false, value, Constant(0));
    bool truncates = node.dtype == kInt64 && node.value.dtype().is_float();
    return truncates ? Fail("a cast of " + ToString(node.value.dtype()) + " to i64") : value;
  }
  uint32_t Visit(const Call& call) {
    std::optional<FormulaOp> op = OpOf(call.op);
    if (!op) return Fail("a call of " + std::string(RowOf(call.op).text));
    return Emit(*op, true, Of(call.args[0]));
  }
  uint32_t Visit(const Load&) { return Fail("a load"); }
  uint32_t Visit(const Ramp&) { return Fail("a vector"); }
  uint32_t Visit(const Broadcast&) { return Fail("a vector"); }

  // Emits a choice; with a constant condition, only the chosen arm.
  template <typename Then, typename Else>
  uint32_t Choose(FormulaOp op, uint32_t condition, Then then_value, Else else_value) {
    std::optional<double> known = ConstantAt(condition);
    if (known && std::isnan(*known)) return condition;
    if (known) return *known != 0 ? then_value() : else_value();
    uint32_t b = then_value();
    uint32_t c = else_value();
    bool may_be_nan = At(condition).may_be_nan || At(b).may_be_nan || At(c).may_be_nan;
    Interval interval = ResultOf(op, At(condition).interval, At(b).interval, At(c).interval);
    return Add({op, false, condition, b, c}, {interval, may_be_nan});
  }

  bool NeedsCheck(FormulaOp op, uint32_t a, uint32_t b, Interval result) const {
    if (At(a).may_be_nan || At(b).may_be_nan) return true;
    if (Divides(op) && At(b).interval.low < 1) return true;
    return result.low <= -kExact || result.high >= kExact;
  }

  // Emits an instruction or reuses an equal one; `real` means that the result is an f64.
  uint32_t Emit(FormulaOp op, bool real, uint32_t a, uint32_t b = 0) {
    if (OperandsOf(op) == 1) b = a;
    if (Commutes(op) && a > b) std::swap(a, b);
    if (a == b && (op == FormulaOp::kMin || op == FormulaOp::kMax)) return a;
    Interval interval = ResultOf(op, At(a).interval, At(b).interval, {});
    bool may_be_nan = NeedsCheck(op, a, b, interval);
    FormulaProgram::Instruction step = {op, may_be_nan && !real, a, b, 0};
    std::optional<double> known_a = ConstantAt(a), known_b = ConstantAt(b);
    if (known_a && known_b) {
      double value = 0;
      ApplyExactly(step, &*known_a, &*known_b, nullptr, &value, 1);
      return Constant(value);
    }
    if (OperandsOf(op) == 1) step.b = 0;
    return Add(step, {may_be_nan && real ? Interval{} : interval, may_be_nan});
  }

  uint32_t Add(const FormulaProgram::Instruction& step, const Known& known) {
    auto id = kFirstInstruction + static_cast<uint32_t>(made_.size());
    auto [entry, is_new] =
        numbers_.try_emplace({step.op, step.checked, step.a, step.b, step.c}, id);
    if (!is_new) return entry->second;
    made_.push_back(known);
    program_.instructions.push_back(step);
    return id;
  }

  FormulaProgram program_;
  Status status_;
  absl::flat_hash_map<const ExprNode*, uint32_t> ids_;
  // The constants by the bits of their value.
  std::map<uint64_t, uint32_t> constants_;
  absl::flat_hash_map<std::tuple<FormulaOp, bool, uint32_t, uint32_t, uint32_t>, uint32_t> numbers_;
  // The facts about variables and constants, and about instructions.
  std::vector<Known> inputs_, made_;
};

TCC_FOR_ANY_VECTORS void ApplyWith(const FormulaProgram::Instruction& step, const double* a,
                                   const double* b, const double* c, double* __restrict result,
                                   size_t count) {
  switch (step.op) {
#define TCC_FORMULA_BINARY(op) \
  case FormulaOp::op:          \
    return ApplyAll<FormulaOp::op>(a, b, result, count, step.checked);
    TCC_FORMULA_BINARY(kAdd)
    TCC_FORMULA_BINARY(kSub)
    TCC_FORMULA_BINARY(kMul)
    TCC_FORMULA_BINARY(kDiv)
    TCC_FORMULA_BINARY(kFloorDiv)
    TCC_FORMULA_BINARY(kFloorMod)
    TCC_FORMULA_BINARY(kCeilDiv)
    TCC_FORMULA_BINARY(kMin)
    TCC_FORMULA_BINARY(kMax)
    TCC_FORMULA_BINARY(kEq)
    TCC_FORMULA_BINARY(kNe)
    TCC_FORMULA_BINARY(kLt)
    TCC_FORMULA_BINARY(kLe)
#undef TCC_FORMULA_BINARY
    case FormulaOp::kSelect:
    case FormulaOp::kSelectReal:
      return SelectAll(a, b, c, result, count);
    case FormulaOp::kExp:
      return MapAll([](double x) { return std::exp(x); }, a, result, count);
    case FormulaOp::kLog:
      return MapAll([](double x) { return std::log(x); }, a, result, count);
    case FormulaOp::kLog1p:
      return MapAll([](double x) { return std::log1p(x); }, a, result, count);
    case FormulaOp::kSqrt:
      return MapAll([](double x) { return std::sqrt(x); }, a, result, count);
  }
}

}  // namespace

StatusOr<FormulaProgram> CompileFormulas(std::span<const Expr> exprs, std::span<const Var> vars,
                                         const Bounds& bounds) {
  return FormulaCompiler(exprs, vars, bounds).Finish();
}

void ApplyExactly(const FormulaProgram::Instruction& step, const double* a, const double* b,
                  const double* c, double* __restrict result, size_t count) {
  ApplyWith(step, a, b, c, result, count);
}

}  // namespace tcc
