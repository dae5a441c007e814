#include "ir/expr/evaluate.h"

#include <absl/container/flat_hash_map.h>

#include "ir/expr/constant_fold.h"
#include "ir/expr/visitor.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

using Value = std::optional<ScalarValue>;

Value Integer(std::optional<int64_t> value) {
  return value ? Value(ScalarValue{*value, 0}) : std::nullopt;
}
Value Real(double value) {
  return ScalarValue{0, value};
}

template <typename Lookup>
class Evaluator {
 public:
  explicit Evaluator(const Lookup& lookup) : lookup_(lookup) {}

  Value Of(const Expr& expr) {
    if (!IsWorthKeeping(expr)) return Compute(expr);
    auto found = known_.find(expr.get());
    if (found != known_.end()) return found->second;
    Value value = Compute(expr);
    known_.emplace(expr.get(), value);
    return value;
  }

 private:
  Value Compute(const Expr& expr) {
    return VisitExpr(expr, [&](const auto& node) { return Visit(node); });
  }

  // A leaf costs less than its memo.
  static bool IsWorthKeeping(const Expr& expr) {
    bool is_leaf = expr.as<IntImm>() || expr.as<FloatImm>() || expr.as<VarNode>();
    return !is_leaf && expr->IsShared();
  }

  Value Visit(const IntImm& imm) { return Integer(imm.value); }
  Value Visit(const FloatImm& imm) { return Real(imm.value); }
  Value Visit(const VarNode& var) { return lookup_(Var(var)); }

  Value Visit(const Cast& cast) {
    Value value = Of(cast.value);
    if (!value) return value;
    DType from = cast.value.dtype();
    bool to_float = HoldsFloats(cast.dtype);
    if (!HoldsFloats(from)) {
      if (to_float) return Real(IntegerToFloat(from, cast.dtype, value->integer));
      return Integer(CastInteger(cast.dtype, value->integer));
    }
    if (to_float) return Real(RoundFloat(cast.dtype, value->real));
    return Integer(FloatToInteger(cast.dtype, value->real));
  }

  template <ExprKind K>
  Value Visit(const Binary<K>& node) {
    Value a = Of(node.a);
    if (!a) return a;
    if (K == ExprKind::kAnd && a->integer == 0) return a;
    if (K == ExprKind::kOr && a->integer != 0) return a;
    Value b = Of(node.b);
    if (!b) return b;
    if (!node.a.dtype().is_float()) {
      return Integer(EvaluateInteger(K, node.a.dtype(), a->integer, b->integer));
    }
    if (node.dtype.is_bool()) return Integer(CompareFloat(K, a->real, b->real));
    return Real(EvaluateFloat(K, a->real, b->real));
  }

  Value Visit(const Not& node) {
    Value a = Of(node.a);
    return a ? Integer(!a->integer) : a;
  }

  Value Visit(const Select& node) {
    Value condition = Of(node.condition);
    if (!condition) return condition;
    return Of(condition->integer ? node.then_value : node.else_value);
  }

  Value Visit(const Call& call) {
    Value a = Of(call.args[0]);
    Value b = call.args.size() > 1 ? Of(call.args[1]) : Value(ScalarValue{});
    if (!a || !b) return std::nullopt;
    if (!call.args[0].dtype().is_float()) {
      return Integer(EvaluateIntegerOp(call.op, call.dtype, a->integer, b->integer));
    }
    double result = EvaluateFloatOp(call.op, a->real, b->real);
    return call.dtype.is_bool() ? Integer(result != 0) : Real(result);
  }

  Value Visit(const Load&) { return std::nullopt; }
  Value Visit(const Ramp&) { return std::nullopt; }
  Value Visit(const Broadcast&) { return std::nullopt; }

  const Lookup& lookup_;
  // The values of shared nodes, which live as long as the expression.
  absl::flat_hash_map<const ExprNode*, Value> known_;
};

}  // namespace

std::optional<ScalarValue> Evaluate(const Expr& expr, const ScalarAssignment& values) {
  auto lookup = [&](const Var& var) -> Value {
    auto found = values.find(var);
    return found == values.end() ? std::nullopt : Value(found->second);
  };
  return Evaluator(lookup).Of(expr);
}

std::optional<int64_t> EvaluateInt(const Expr& expr, const Assignment& values) {
  auto lookup = [&](const Var& var) -> Value {
    auto found = values.find(var);
    return found == values.end() ? std::nullopt : Integer(found->second);
  };
  Value value = Evaluator(lookup).Of(expr);
  return value ? std::optional(value->integer) : std::nullopt;
}

std::optional<int64_t> AtUsual(const Expr& expr) {
  if (std::optional<int64_t> constant = AsConstant(expr)) return constant;
  auto lookup = [](const Var& var) -> Value {
    return var->role == VarRole::kShape ? Integer(var->usual) : std::nullopt;
  };
  Value value = Evaluator(lookup).Of(expr);
  return value ? std::optional(value->integer) : std::nullopt;
}

}  // namespace tcc
