#include "graph/variants/integer_pairs.h"

#include <algorithm>
#include <cstdlib>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "ir/expr/combiner.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// A factor of an integer product, with the one element that it reads at the paired axis.
struct Factor {
  Expr value;
  Ref<Load> element;
  size_t pair_dim = 0;  // the index of `element` that is the paired axis
};

// A stage that sums data(.., c, ..) * weight(.., c, ..) over c and other axes.
struct IntegerProduct {
  size_t stage = 0;
  Axis axis;  // c
  Factor data, weight;
};

// Returns whether the value is an i32 that was an integer of 8 bits before it was widened.
bool WasByte(const Expr& expr) {
  if (std::optional<int64_t> number = AsConstant(expr)) return std::abs(*number) <= 255;
  const auto* cast = expr.as<Cast>();
  return cast && cast->value.dtype().is_integer() && cast->value.dtype().bits() <= 8;
}

// Returns whether 16 bits hold the value: a byte, or a byte less its zero point.
bool FitsHalfWord(const Expr& expr) {
  const auto* difference = expr.as<Sub>();
  return difference ? WasByte(difference->a) && WasByte(difference->b) : WasByte(expr);
}

// Returns the factor, if one load alone uses `axis`, by an index that is the axis itself.
std::optional<Factor> FactorAlong(const Expr& value, const Var& axis) {
  if (!FitsHalfWord(value)) return std::nullopt;
  std::optional<Factor> factor;
  bool fits = true;
  PreOrder(value, [&](const Expr& node) {
    const auto* load = node.as<Load>();
    if (!load || !UsesVar(node, axis)) return;
    fits = fits && (!factor || Equal(Expr(factor->element.get()), node));
    for (size_t d = 0; d < load->indices.size(); ++d) {
      if (!UsesVar(load->indices[d], axis)) continue;
      fits = fits && load->indices[d].same_as(axis) && (!factor || factor->pair_dim == d);
      if (!factor) factor = Factor{value, Ref<Load>(load), d};
    }
  });
  return fits ? factor : std::nullopt;
}

bool IsConstantFactor(const TensorProgram& program, const Factor& factor) {
  bool constant = true;
  PreOrder(factor.value, [&](const Expr& node) {
    const auto* load = node.as<Load>();
    const Buffer* buffer = load ? FindBuffer(program, load->buffer) : nullptr;
    if (load) constant = constant && buffer && buffer->scope == Scope::kConstant;
  });
  return constant;
}

bool HasKnownShape(const TensorProgram& program, const Factor& factor) {
  const Buffer* buffer = FindBuffer(program, factor.element->buffer);
  return buffer && std::ranges::all_of(buffer->shape, [](const Expr& extent) {
           return AsConstant(extent).has_value();
         });
}

// The stage pairs[.., p, ..] = the factor's elements at 2 p and 2 p + 1, as a word.
class PairStage {
 public:
  PairStage(const ComputeExpr& product, const Factor& factor, const Axis& paired, WordForm form)
      : product_(product), factor_(factor), paired_(paired), form_(form) {}

  // Returns the shape of the buffer.
  std::vector<Expr> Shape(const Buffer& elements) const {
    std::vector<Expr> shape = elements.shape;
    shape[factor_.pair_dim] = Expr(CeilDivision(*AsConstant(paired_.extent), 2));
    return shape;
  }

  // Returns nullopt if a zero point varies along an axis that is no index of the element.
  std::optional<ComputeExpr> Over(const Buffer& pairs) const {
    ComputeExpr stage = StageOver(pairs);
    Expr first = Expr(stage.axes[factor_.pair_dim].var) * Expr(2), second = first + Expr(1);
    std::optional<Expr> low = ValueAt(stage.axes, first), high = ValueAt(stage.axes, second);
    if (!low || !high) return std::nullopt;
    int64_t extent = *AsConstant(paired_.extent);
    if (extent % 2 != 0) high = SelectOf(second < Expr(extent), *high, Const(kInt32, 0));
    stage.values = {
        form_ == WordForm::kSum
            ? *high * Const(kInt32, 0x10000) + *low
            : CallOf(ScalarOp::kBitOr, {CallOf(ScalarOp::kBitAnd, {*low, Const(kInt32, 0xffff)}),
                                        CallOf(ScalarOp::kShiftLeft, {*high, Const(kInt32, 16)})})};
    return stage;
  }

 private:
  // Returns the factor where its element has the indices `axes`, except `place` as the paired one.
  std::optional<Expr> ValueAt(const std::vector<Axis>& axes, const Expr& place) const {
    std::vector<Expr> indices;
    for (size_t d = 0; d < axes.size(); ++d) {
      indices.push_back(d == factor_.pair_dim ? place : Expr(axes[d].var));
    }
    // The element's own indices may be any, so it stands aside while its variables are replaced.
    Var element = IterationVar("element", factor_.element->dtype);
    Expr rest = RewriteBottomUp(factor_.value, [&](const Expr& node) -> Expr {
      return Equal(node, Expr(factor_.element.get())) ? Expr(element) : node;
    });
    Substitution values = {{element, Make<Load>(factor_.element->buffer, indices)}};
    for (const auto* list : {&product_.axes, &product_.reduce_axes}) {
      for (const Axis& axis : *list) {
        for (size_t d = 0; d < axes.size(); ++d) {
          if (factor_.element->indices[d].same_as(axis.var)) values.emplace(axis.var, indices[d]);
        }
        if (UsesVar(rest, axis.var) && !values.contains(axis.var)) return std::nullopt;
      }
    }
    return Substitute(rest, values);
  }

  const ComputeExpr& product_;
  const Factor& factor_;
  const Axis& paired_;
  WordForm form_;
};

std::optional<IntegerProduct> MatchAxis(const TensorProgram& program, const Mul& product,
                                        const Axis& axis) {
  if (*AsConstant(axis.extent) < 2) return std::nullopt;
  std::optional<Factor> a = FactorAlong(product.a, axis.var);
  std::optional<Factor> b = FactorAlong(product.b, axis.var);
  if (!a || !b) return std::nullopt;
  if (!IsConstantFactor(program, *b)) std::swap(a, b);
  bool fits = IsConstantFactor(program, *b) && HasKnownShape(program, *a);
  return fits && HasKnownShape(program, *b) ? std::optional(IntegerProduct{0, axis, *a, *b})
                                            : std::nullopt;
}

// Matches the last axis that can be paired: the channels of operands that are stored channels last.
std::optional<IntegerProduct> MatchStage(const TensorProgram& program, const ComputeExpr& stage) {
  bool sums = stage.combiner && stage.values.size() == 1 && HasKnownExtents(stage) &&
              stage.combiner.get() == SumCombiner(kInt32).get();
  const auto* product = sums ? stage.values[0].as<Mul>() : nullptr;
  if (!product) return std::nullopt;
  for (size_t r = stage.reduce_axes.size(); r-- > 0;) {
    const Axis& axis = stage.reduce_axes[r];
    if (UsesVar(stage.predicate, axis.var)) continue;
    if (std::optional<IntegerProduct> match = MatchAxis(program, *product, axis)) return match;
  }
  return std::nullopt;
}

std::optional<IntegerProduct> FindProduct(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    std::optional<IntegerProduct> product = stage ? MatchStage(program, *stage) : std::nullopt;
    if (!product) continue;
    product->stage = s;
    return product;
  }
  return std::nullopt;
}

// The load of a factor's pairs where its element was read.
Expr PairsAt(const Buffer& pairs, const Factor& factor, const Var& pair) {
  std::vector<Expr> indices = factor.element->indices;
  indices[factor.pair_dim] = pair;
  return Make<Load>(pairs.var, std::move(indices));
}

std::optional<PairedProgram> Paired(const TensorProgram& program, const IntegerProduct& match,
                                    WordForm form) {
  const auto& stage = std::get<ComputeExpr>(program.stages[match.stage]);
  PairedProgram paired{.program = program, .data = {}, .weight = {}};
  TensorProgram& result = paired.program;
  auto add = [&](const Factor& factor, const char* suffix) {
    const PairStage pair_stage(stage, factor, match.axis, form);
    Buffer pairs = AddIntermediate(result, stage.name + suffix, kInt32,
                                   pair_stage.Shape(*FindBuffer(program, factor.element->buffer)));
    return std::pair(pairs, pair_stage.Over(pairs));
  };
  auto [data, data_stage] = add(match.data, "_pairs");
  auto [weight, weight_stage] = add(match.weight, "_weight");
  if (!data_stage || !weight_stage) return std::nullopt;
  // Readers would compute them again and again.
  result.kept.insert(result.kept.end(), {data.var, weight.var});
  paired.data = data.var;
  paired.weight = weight.var;

  auto& product = std::get<ComputeExpr>(result.stages[match.stage]);
  Axis pair = {IterationVar(match.axis.var->name), data.shape[match.data.pair_dim]};
  for (Axis& axis : product.reduce_axes) {
    if (axis.var == match.axis.var) axis = pair;
  }
  product.values = {CallOf(ScalarOp::kDotI16x2, {PairsAt(data, match.data, pair.var),
                                                 PairsAt(weight, match.weight, pair.var)})};
  auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(match.stage);
  result.stages.insert(at, *data_stage);
  result.stages.insert(result.stages.begin(), *weight_stage);
  return paired;
}

}  // namespace

std::optional<PairedProgram> PairBytes(const TensorProgram& program, WordForm form) {
  std::optional<IntegerProduct> product = FindProduct(program);
  return product ? Paired(program, *product, form) : std::nullopt;
}

std::optional<TensorProgram> IntegerPairsVariant(const TensorProgram& program) {
  std::optional<PairedProgram> paired = PairBytes(program, WordForm::kHalves);
  if (!paired) return std::nullopt;
  if (std::optional<TensorProgram> merged = MergedAxesVariant(paired->program)) return merged;
  std::optional<TensorProgram> padded = ZeroPaddingVariant(paired->program);
  if (!padded) return paired->program;
  // The pairs are made where they are padded.
  std::erase(padded->kept, paired->data);
  return padded;
}

}  // namespace tcc
