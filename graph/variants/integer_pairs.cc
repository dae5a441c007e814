#include "graph/variants/integer_pairs.h"

#include <algorithm>

#include "graph/variants/integer_product.h"
#include "graph/variants/variants.h"

namespace tcc {
namespace {

Expr PackedPair(const std::vector<Expr>& numbers, WordForm form) {
  const Expr& low = numbers[0];
  const Expr& high = numbers[1];
  if (form == WordForm::kSum) return high * Const(kInt32, 0x10000) + low;
  return CallOf(ScalarOp::kBitOr, {CallOf(ScalarOp::kBitAnd, {low, Const(kInt32, 0xffff)}),
                                   CallOf(ScalarOp::kShiftLeft, {high, Const(kInt32, 16)})});
}

}  // namespace

std::optional<PairedProgram> PairBytes(const TensorProgram& program, WordForm form) {
  std::optional<IntegerProduct> product = FindIntegerProduct(program);
  if (!product) return std::nullopt;
  const WordPacking packing = {
      2, [&](const std::vector<Expr>& numbers) { return PackedPair(numbers, form); }};
  TensorProgram result = program;
  Buffer data = AddWords(result, *product, product->data, "_pairs", packing.numbers);
  Buffer weight = AddWords(result, *product, product->weight, "_weight", packing.numbers);
  auto data_stage = WordStage(program, *product, product->data, data, packing);
  auto weight_stage = WordStage(program, *product, product->weight, weight, packing);
  if (!data_stage || !weight_stage) return std::nullopt;
  SumWords(std::get<ComputeExpr>(result.stages[product->stage]), *product, ScalarOp::kDotI16x2,
           data, weight);
  auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(product->stage);
  result.stages.insert(at, *data_stage);
  result.stages.insert(result.stages.begin(), *weight_stage);
  return PairedProgram{std::move(result), data.var, weight.var};
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
