#include "autodiff_features/counts/operation_counts.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Vectors of a function of one argument, in those of exp.
double WeightOf(ScalarOp op) {
  constexpr std::pair<ScalarOp, double> kWeights[] = {
      {ScalarOp::kExp, 1},     {ScalarOp::kExpDiff, 1}, {ScalarOp::kLog, 1.5},
      {ScalarOp::kLog1p, 1.5}, {ScalarOp::kTanh, 1.5},  {ScalarOp::kSigmoid, 1.5},
      {ScalarOp::kErf, 2.5},   {ScalarOp::kSin, 2.5},   {ScalarOp::kCos, 2.5},
  };
  for (const auto& [weighed, weight] : kWeights) {
    if (weighed == op) return weight;
  }
  return 4;
}

bool IsCheapCall(ScalarOp op) {
  ScalarTypeRule rule = RowOf(op).rule;
  return rule == ScalarTypeRule::kTest || rule == ScalarTypeRule::kSingle ||
         rule == ScalarTypeRule::kNumeric || rule == ScalarTypeRule::kInteger ||
         rule == ScalarTypeRule::kPack || op == ScalarOp::kFloor || op == ScalarOp::kCeil ||
         op == ScalarOp::kRound || op == ScalarOp::kTrunc;
}

// Returns whether the value is a product of words, of two or four numbers each.
bool IsDot(const Expr& expr) {
  const auto* call = expr.as<Call>();
  return call && IsDotOfWords(call->op);
}

// Returns whether an i64 is made of iteration variables and constants alone.
bool IsIndexArithmetic(const Expr& expr) {
  return expr.dtype() == kInt64 && !HasLoad(expr);
}

class OperationCounter {
 public:
  void Count(const Expr& expr) {
    if (!seen_.insert(expr).second) return;
    // Indices are no arithmetic of the block.
    if (expr.as<Load>() || IsIndexArithmetic(expr)) return;
    CountNode(expr);
    ForEachChild(expr, [&](const Expr& child) { Count(child); });
  }

  OperationCounts counts;

 private:
  void CountNode(const Expr& expr) {
    switch (expr.kind()) {
      case ExprKind::kAdd:
        return CountSum(static_cast<const Add&>(*expr));
      case ExprKind::kSub:
        return CountSum(static_cast<const Sub&>(*expr));
      case ExprKind::kMul:
        counts.mul += contracted_.contains(expr) ? 0 : 1;
        return;
      case ExprKind::kDiv:
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
      case ExprKind::kCeilDiv:
        counts.divide += 1;
        return;
      case ExprKind::kMin:
      case ExprKind::kMax:
      case ExprKind::kEq:
      case ExprKind::kNe:
      case ExprKind::kLt:
      case ExprKind::kLe:
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kNot:
      case ExprKind::kSelect:
        counts.compare += 1;
        return;
      case ExprKind::kCast:
        counts.convert += 1;
        return;
      case ExprKind::kCall:
        return CountCall(static_cast<const Call&>(*expr));
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm:
      case ExprKind::kVarNode:
      case ExprKind::kLoad:
      case ExprKind::kRamp:
      case ExprKind::kBroadcast:
        return;
    }
  }

  template <typename Sum>
  void CountSum(const Sum& sum) {
    for (const Expr& term : {sum.b, sum.a}) {
      if ((term.template as<Mul>() || IsDot(term)) && !seen_.contains(term)) {
        contracted_.insert(term);
        counts.fma += 1;
        return;
      }
    }
    counts.add += 1;
  }

  void CountCall(const Call& call) {
    if (IsDotOfWords(call.op)) {
      counts.mul += contracted_.contains(Expr(&call)) ? 0 : 1;
      return;
    }
    if (call.op == ScalarOp::kSqrt) {
      counts.root += 1;
    } else if (call.op == ScalarOp::kRsqrt) {
      counts.root += 1;
      counts.divide += 1;
    } else if (IsCheapCall(call.op)) {
      counts.compare += 1;
    } else {
      counts.special += WeightOf(call.op);
    }
  }

  std::unordered_set<Expr, ExprHash, ExprEqual> seen_;
  std::unordered_set<Expr, ExprHash, ExprEqual> contracted_;
};

double TermsOf(const Expr& predicate) {
  if (predicate.as<IntImm>()) return 0;
  const auto* both = predicate.as<And>();
  return both ? TermsOf(both->a) + TermsOf(both->b) : 1;
}

// The results of one step of a reduction.
std::vector<Expr> StepOf(const Reduce& reduce) {
  std::vector<Expr> so_far;
  for (const Access& output : reduce.outputs) {
    so_far.push_back(Make<Load>(output.buffer, output.indices));
  }
  return Combine(reduce.combiner, so_far, reduce.inputs);
}

}  // namespace

OperationCounts OperationsOf(const Block& block, bool tested) {
  OperationCounter counter;
  PreOrder(block.body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<Store>()) counter.Count(store->value);
    if (const auto* reduce = stmt.as<Reduce>()) {
      for (const Expr& result : StepOf(*reduce)) counter.Count(result);
      bool initialises = reduce->init == ReduceInit::kFirstInstance;
      counter.counts.tests += tested && initialises ? 1 : 0;
    }
  });
  if (tested) counter.counts.tests += TermsOf(block.predicate);
  return counter.counts;
}

OperationCounts OperationsOf(const Site& site) {
  bool partitioned = std::ranges::any_of(
      site.loops, [](const Ref<For>& loop) { return loop->for_kind == ForKind::kPartitioned; });
  return OperationsOf(*site.block, !partitioned);
}

}  // namespace tcc
