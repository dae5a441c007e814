#include "graph/variants/word_product.h"

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

// Returns whether 16 bits hold the value: a byte, or a byte less its zero point.
bool FitsHalfWord(const Expr& expr) {
  const auto* difference = expr.as<Sub>();
  return difference ? WasByte(difference->a) && WasByte(difference->b) : WasByte(expr);
}

// Returns the factor, if one load alone uses `axis`, by an index that is the axis itself.
std::optional<WordFactor> FactorAlong(const Expr& value, const Var& axis) {
  std::optional<WordFactor> factor;
  bool fits = true;
  PreOrder(value, [&](const Expr& node) {
    const auto* load = node.as<Load>();
    if (!load || !UsesVar(node, axis)) return;
    fits = fits && (!factor || Equal(Expr(factor->element.get()), node));
    for (size_t d = 0; d < load->indices.size(); ++d) {
      if (!UsesVar(load->indices[d], axis)) continue;
      fits = fits && load->indices[d].same_as(axis) && (!factor || factor->dim == d);
      if (!factor) factor = WordFactor{value, Ref<Load>(load), d};
    }
  });
  return fits ? factor : std::nullopt;
}

bool IsConstantFactor(const TensorProgram& program, const WordFactor& factor) {
  bool constant = true;
  PreOrder(factor.value, [&](const Expr& node) {
    const auto* load = node.as<Load>();
    const Buffer* buffer = load ? FindBuffer(program, load->buffer) : nullptr;
    if (load) constant = constant && buffer && buffer->scope == Scope::kConstant;
  });
  return constant;
}

std::optional<WordProduct> MatchAxis(const TensorProgram& program, const Mul& product,
                                     const Axis& axis) {
  if (AsConstant(axis.extent).value_or(0) < 2) return std::nullopt;
  std::optional<WordFactor> a = FactorAlong(product.a, axis.var);
  std::optional<WordFactor> b = FactorAlong(product.b, axis.var);
  if (!a || !b) return std::nullopt;
  if (!IsConstantFactor(program, *b)) std::swap(a, b);
  bool fits = IsConstantFactor(program, *b) && FindBuffer(program, a->element->buffer);
  return fits ? std::optional(WordProduct{0, axis, *a, *b}) : std::nullopt;
}

// Matches the last axis that can be packed: the channels of operands that are stored channels last.
std::optional<WordProduct> MatchStage(const TensorProgram& program, const ComputeExpr& stage,
                                      const WordNumbers& numbers) {
  bool sums = stage.combiner && stage.values.size() == 1 && IsNeverEmpty(stage) &&
              stage.combiner.get() == SumCombiner(numbers.sum).get();
  const auto* product = sums ? stage.values[0].as<Mul>() : nullptr;
  if (!product || !numbers.may_be(product->a) || !numbers.may_be(product->b)) return std::nullopt;
  for (size_t r = stage.reduce_axes.size(); r-- > 0;) {
    const Axis& axis = stage.reduce_axes[r];
    if (UsesVar(stage.predicate, axis.var)) continue;
    if (std::optional<WordProduct> match = MatchAxis(program, *product, axis)) return match;
  }
  return std::nullopt;
}

// Returns the factor where its element has the indices `axes`, except `place` as the packed one.
std::optional<Expr> ValueAt(const ComputeExpr& product, const WordFactor& factor,
                            const std::vector<Axis>& axes, const Expr& place) {
  std::vector<Expr> indices;
  for (size_t d = 0; d < axes.size(); ++d) {
    indices.push_back(d == factor.dim ? place : Expr(axes[d].var));
  }
  // The element's own indices may be any, so it stands aside while its variables are replaced.
  Var element = IterationVar("element", factor.element->dtype);
  Expr rest = RewriteBottomUp(factor.value, [&](const Expr& node) -> Expr {
    return Equal(node, Expr(factor.element.get())) ? Expr(element) : node;
  });
  Substitution values = {{element, Make<Load>(factor.element->buffer, indices)}};
  for (const auto* list : {&product.axes, &product.reduce_axes}) {
    for (const Axis& axis : *list) {
      for (size_t d = 0; d < axes.size(); ++d) {
        if (factor.element->indices[d].same_as(axis.var)) values.emplace(axis.var, indices[d]);
      }
      if (UsesVar(rest, axis.var) && !values.contains(axis.var)) return std::nullopt;
    }
  }
  return Substitute(rest, values);
}

}  // namespace

bool WasByte(const Expr& expr) {
  if (std::optional<int64_t> number = AsConstant(expr)) return std::abs(*number) <= 255;
  const auto* cast = expr.as<Cast>();
  return cast && cast->value.dtype().is_integer() && cast->value.dtype().bits() <= 8;
}

WordNumbers BytesLessZero() {
  return {kInt32, FitsHalfWord};
}

std::optional<WordProduct> FindWordProduct(const TensorProgram& program,
                                           const WordNumbers& numbers) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    std::optional<WordProduct> product =
        stage ? MatchStage(program, *stage, numbers) : std::nullopt;
    if (!product) continue;
    product->stage = s;
    return product;
  }
  return std::nullopt;
}

Buffer AddWords(TensorProgram& program, const WordProduct& product, const WordFactor& factor,
                const char* suffix, int64_t numbers) {
  std::vector<Expr> shape = FindBuffer(program, factor.element->buffer)->shape;
  shape[factor.dim] = Expr(CeilDivision(*AsConstant(product.axis.extent), numbers));
  const auto& stage = std::get<ComputeExpr>(program.stages[product.stage]);
  Buffer words = AddIntermediate(program, stage.name + suffix, kInt32, std::move(shape));
  program.kept.push_back(words.var);
  return words;
}

std::optional<ComputeExpr> WordStage(const TensorProgram& program, const WordProduct& product,
                                     const WordFactor& factor, const Buffer& words,
                                     const WordPacking& packing) {
  const auto& sum = std::get<ComputeExpr>(program.stages[product.stage]);
  int64_t extent = *AsConstant(product.axis.extent);
  ComputeExpr stage = StageOver(words);
  std::vector<Expr> numbers;
  for (int64_t n = 0; n < packing.numbers; ++n) {
    Expr place = Expr(stage.axes[factor.dim].var) * Expr(packing.numbers) + Expr(n);
    std::optional<Expr> number = ValueAt(sum, factor, stage.axes, place);
    if (!number) return std::nullopt;
    bool may_be_beyond = n >= extent % packing.numbers && extent % packing.numbers != 0;
    numbers.push_back(may_be_beyond
                          ? SelectOf(place < Expr(extent), *number, Const(number->dtype(), 0))
                          : *number);
  }
  stage.values = {packing.pack(numbers)};
  return stage;
}

Expr WordAt(const Buffer& words, const WordFactor& factor, const Var& word) {
  std::vector<Expr> indices = factor.element->indices;
  indices[factor.dim] = word;
  return Make<Load>(words.var, std::move(indices));
}

void SumWords(ComputeExpr& stage, const WordProduct& product, ScalarOp dot, const Buffer& data,
              const Buffer& weight) {
  Axis word = {IterationVar(product.axis.var->name), data.shape[product.data.dim]};
  for (Axis& axis : stage.reduce_axes) {
    if (axis.var == product.axis.var) axis = word;
  }
  stage.values = {CallOf(
      dot, {WordAt(data, product.data, word.var), WordAt(weight, product.weight, word.var)})};
}

std::optional<WordProgram> ProgramInWords(const TensorProgram& program, const WordProduct& product,
                                          const WordPacking& packing, ScalarOp dot) {
  TensorProgram result = program;
  const char* suffix = packing.numbers == 2 ? "_pairs" : "_quads";
  Buffer data = AddWords(result, product, product.data, suffix, packing.numbers);
  Buffer weight = AddWords(result, product, product.weight, "_weight", packing.numbers);
  auto data_stage = WordStage(program, product, product.data, data, packing);
  auto weight_stage = WordStage(program, product, product.weight, weight, packing);
  if (!data_stage || !weight_stage) return std::nullopt;
  SumWords(std::get<ComputeExpr>(result.stages[product.stage]), product, dot, data, weight);
  auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(product.stage);
  result.stages.insert(at, *data_stage);
  result.stages.insert(result.stages.begin(), *weight_stage);
  return WordProgram{std::move(result), data.var, weight.var};
}

TensorProgram MergedOrPadded(const WordProgram& words) {
  if (std::optional<TensorProgram> merged = MergedAxesVariant(words.program)) return *merged;
  std::optional<TensorProgram> padded = ZeroPaddingVariant(words.program);
  if (!padded) return words.program;
  // The words are made where they are padded.
  std::erase(padded->kept, words.data);
  return *padded;
}

}  // namespace tcc
