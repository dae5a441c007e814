#include "schedule/steps/pad_filling.h"

#include <algorithm>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

Expr Zero(DType dtype) {
  return Const(dtype, 0);
}
Expr One(DType dtype) {
  return Const(dtype, 1);
}
Expr Lowest(DType dtype) {
  return dtype == kBool ? Zero(dtype) : MaxCombiner(dtype)->identities[0];
}
Expr Highest(DType dtype) {
  return dtype == kBool ? One(dtype) : MinCombiner(dtype)->identities[0];
}

constexpr Expr (*kFillings[])(DType) = {Zero, One, Lowest, Highest};

// `input` where the variable is beyond its extent.
Expr Filled(const Expr& input, const Var& var, Expr (*fill)(DType)) {
  auto replace = [&](const Expr& expr) -> Expr {
    const auto* load = expr.as<Load>();
    bool filled = load && std::any_of(load->indices.begin(), load->indices.end(),
                                      [&](const Expr& index) { return index.same_as(var); });
    return filled ? fill(load->dtype) : expr;
  };
  return Simplify(RewriteBottomUp(input, replace));
}

}  // namespace

StatusOr<Expr (*)(DType)> FillingFor(const Block& block, const IterVar& axis) {
  if (axis.kind == IterKind::kSpatial) return Zero;
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce) {
    return InvalidInput("pad: variable '{}' of block '{}' runs in order; expected a reduction",
                        axis.var->name, block.name);
  }
  for (Expr (*fill)(DType) : kFillings) {
    bool neutral = true;
    for (size_t e = 0; e < reduce->inputs.size(); ++e) {
      neutral = neutral && Equal(Filled(reduce->inputs[e], axis.var, fill),
                                 Simplify(reduce->combiner->identities[e]));
    }
    if (neutral) return fill;
  }
  return InvalidInput(
      "pad: whatever the operands hold beyond variable '{}', the inputs of reduction '{}' are not "
      "the identity of '{}'",
      axis.var->name, block.name, reduce->combiner->name);
}

}  // namespace tcc
