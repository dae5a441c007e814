#include "tests/fuzz/expr_point.h"

#include <algorithm>
#include <cmath>

#include "ir/analysis/affine.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "tests/fuzz/random/random_scalar.h"

namespace tcc {
namespace {

constexpr int kPointsPerExpr = 6;

// The same value; floats bit for bit, but any NaN is as good as another.
bool SameValue(DType type, const ScalarValue& a, const ScalarValue& b) {
  if (!type.is_float()) return a.integer == b.integer;
  if (std::isnan(a.real) || std::isnan(b.real)) return std::isnan(a.real) && std::isnan(b.real);
  return a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
}

bool Holds(Interval bounds, int64_t value) {
  return bounds.low <= value && value <= bounds.high;
}

class ExprPoint {
 public:
  ExprPoint(Random& random, ExprHistogram& histogram)
      : random_(random), generator_(random), histogram_(histogram) {}

  std::optional<ExprFailure> Check() {
    Expr expr = generator_.AnyExpr();
    ++histogram_["expressions of " + ToString(expr.dtype())];
    if (auto failure = CheckSimplify(expr)) return failure;
    if (auto failure = CheckSubstitution()) return failure;
    return CheckAffine();
  }

 private:
  std::optional<ExprFailure> CheckSimplify(const Expr& expr) {
    const Bounds& bounds = generator_.bounds();
    Expr simple = Simplify(expr, bounds);
    if (!Equal(Simplify(simple, bounds), simple)) return ExprFailure{"idempotent", expr};
    bool has_bounds = expr.dtype() == kInt64 || expr.dtype() == kBool;
    Interval before = has_bounds ? BoundsOf(expr, bounds) : Interval{};
    Interval after = has_bounds ? BoundsOf(simple, bounds) : Interval{};
    Proof proof = expr.dtype() == kBool ? Prove(expr, bounds) : Proof::kUnknown;
    if (proof != Proof::kUnknown) ++histogram_["decided by Prove"];
    for (int i = 0; i < kPointsPerExpr; ++i) {
      ScalarAssignment point = generator_.Point();
      std::optional<ScalarValue> value = Evaluate(expr, point);
      if (!value) continue;
      std::optional<ScalarValue> simplified = Evaluate(simple, point);
      if (!simplified || !SameValue(expr.dtype(), *value, *simplified)) {
        return ExprFailure{"Simplify keeps the value", expr};
      }
      if (!Holds(before, value->integer)) return ExprFailure{"BoundsOf holds the value", expr};
      if (!Holds(after, value->integer)) return ExprFailure{"BoundsOf holds the value", simple};
      bool lie = proof == (value->integer ? Proof::kFalse : Proof::kTrue);
      if (lie) return ExprFailure{"Prove does not lie", expr};
    }
    return std::nullopt;
  }

  // Setting a size before or after simplifying gives the same normal form, but for some where
  // bounds decide a division at one of the two times only; those are counted.
  std::optional<ExprFailure> CheckSubstitution() {
    const Bounds& bounds = generator_.bounds();
    Expr expr = generator_.ScheduleIndex(static_cast<int>(random_.Between(1, 4)));
    Substitution sizes;
    for (const Var& tile : generator_.tiles()) {
      if (!random_.OneIn(4)) sizes.emplace(tile, Expr(random_.Between(tile->low, tile->high)));
    }
    Expr direct = Simplify(Substitute(expr, sizes), bounds);
    Expr late = Simplify(Substitute(Simplify(expr, bounds), sizes), bounds);
    ++histogram_["size substitutions"];
    if (EqualUpToAlgebra(direct, late)) return std::nullopt;
    ++histogram_["size substitutions with another normal form"];
    return std::nullopt;
  }

  std::optional<ExprFailure> CheckAffine() {
    const std::vector<Var>& loops = generator_.loops();
    Expr affine = generator_.AffineIndex();
    std::optional<AffineForm> form = ToAffine(affine, loops);
    if (!form) return ExprFailure{"ToAffine reads an affine index", affine};
    Expr rebuilt = form->rest;
    for (size_t i = 0; i < form->vars.size(); ++i) {
      rebuilt = rebuilt + form->coefficients[i] * form->vars[i];
      if (VarsUsed(form->coefficients[i], loops) || VarsUsed(form->rest, loops)) {
        return ExprFailure{"ToAffine leaves no variable in coefficients", affine};
      }
    }
    ScalarAssignment point = generator_.Point();
    if (Evaluate(affine, point)->integer != Evaluate(rebuilt, point)->integer) {
      return ExprFailure{"ToAffine keeps the value", affine};
    }
    bool divided = random_.OneIn(3);
    Expr index = !divided           ? affine
                 : random_.OneIn(2) ? FloorDivide(affine, generator_.Positive())
                                    : CeilDivide(affine, generator_.Positive()) * 2 + loops[0];
    return CheckBox(index, point, divided);
  }

  static bool VarsUsed(const Expr& expr, const std::vector<Var>& vars) {
    for (const Var& var : vars) {
      if (UsesVar(expr, var)) return true;
    }
    return false;
  }

  std::optional<ExprFailure> CheckBox(const Expr& index, ScalarAssignment point, bool divided) {
    const std::vector<Var>& loops = generator_.loops();
    std::vector<Expr> lows, sizes;
    std::vector<int64_t> low_values, size_values;
    for (size_t i = 0; i < loops.size(); ++i) {
      low_values.push_back(random_.Between(-3, 9));
      size_values.push_back(random_.Between(1, 4));
      lows.emplace_back(low_values.back());
      sizes.emplace_back(size_values.back());
    }
    std::optional<IndexBox> box = BoxOf(index, loops, lows, sizes);
    if (!box) return ExprFailure{"BoxOf reads an index with factors >= 0", index};
    int64_t origin = Evaluate(box->origin, point)->integer;
    int64_t size = Evaluate(box->size, point)->integer;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t a = 0; a < size_values[0]; ++a) {
      for (int64_t b = 0; b < size_values[1]; ++b) {
        for (int64_t c = 0; c < size_values[2]; ++c) {
          point[loops[0]] = {low_values[0] + a, 0};
          point[loops[1]] = {low_values[1] + b, 0};
          point[loops[2]] = {low_values[2] + c, 0};
          int64_t value = Evaluate(index, point)->integer;
          least = std::min(least, value);
          most = std::max(most, value);
        }
      }
    }
    if (origin != least) return ExprFailure{"BoxOf's origin is the least index", index};
    if (most - least + 1 > size) return ExprFailure{"BoxOf covers every index", index};
    if (!divided && most - least + 1 != size) return ExprFailure{"BoxOf is tight", index};
    return std::nullopt;
  }

  Random& random_;
  ScalarGenerator generator_;
  ExprHistogram& histogram_;
};

}  // namespace

std::optional<ExprFailure> CheckExprPoint(uint64_t seed, ExprHistogram& histogram) {
  Random random(seed);
  return ExprPoint(random, histogram).Check();
}

}  // namespace tcc
