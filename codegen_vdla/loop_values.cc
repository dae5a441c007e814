#include "codegen_vdla/loop_values.h"

#include <functional>

#include "codegen_vdla/refusal.h"
#include "ir/analysis/affine.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"

namespace tcc {

std::optional<int64_t> LoopValues::Of(const Expr& expr) {
  if (expr.dtype().is_bool()) return OfCondition(expr);
  auto known = known_.find(expr.get());
  if (known == known_.end()) known = known_.emplace(expr.get(), Known{expr, FormOf(expr)}).first;
  const std::optional<Affine>& form = known->second.form;
  if (!form) return EvaluateInt(expr, values_);
  int64_t sum = form->rest;
  for (const Affine::Term& term : form->terms) sum += term.factor * *term.value;
  return sum;
}

StatusOr<int64_t> LoopValues::ValueOf(const Expr& expr, const Stmt& in) {
  const std::optional<int64_t> value = Of(expr);
  if (!value) return Refuse(in, "'{}' has no known value", Print(expr));
  return *value;
}

// Takes conditions apart into comparisons of indices.
std::optional<int64_t> LoopValues::OfCondition(const Expr& expr) {
  if (const auto* both = expr.as<And>()) {
    const std::optional<int64_t> a = Of(both->a);
    return !a || *a == 0 ? a : Of(both->b);
  }
  const auto compare = [&](const auto& node, auto holds) -> std::optional<int64_t> {
    const std::optional<int64_t> a = Of(node.a), b = Of(node.b);
    if (!a || !b) return std::nullopt;
    return holds(*a, *b) ? 1 : 0;
  };
  const auto* less = expr.as<Lt>();
  if (less != nullptr && less->a.dtype() == kInt64) return compare(*less, std::less<int64_t>());
  const auto* at_most = expr.as<Le>();
  if (at_most != nullptr && at_most->a.dtype() == kInt64) {
    return compare(*at_most, std::less_equal<int64_t>());
  }
  return EvaluateInt(expr, values_);
}

std::optional<LoopValues::Affine> LoopValues::FormOf(const Expr& expr) {
  if (expr.dtype() != kInt64) return std::nullopt;
  const std::optional<AffineForm> form = ToAffine(expr, VarsOf(expr));
  if (!form) return std::nullopt;
  const std::optional<int64_t> rest = AsConstant(Simplify(form->rest));
  if (!rest) return std::nullopt;
  Affine affine{.rest = *rest, .terms = {}};
  for (size_t i = 0; i < form->vars.size(); ++i) {
    const std::optional<int64_t> factor = AsConstant(Simplify(form->coefficients[i]));
    const auto value = values_.find(form->vars[i]);
    if (!factor || value == values_.end()) return std::nullopt;
    affine.terms.push_back({&value->second, *factor});
  }
  return affine;
}

}  // namespace tcc
