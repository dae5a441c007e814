#include "graph/variants/integer_pairs.h"

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

std::optional<WordProgram> PairBytes(const TensorProgram& program, WordForm form) {
  std::optional<WordProduct> product = FindWordProduct(program, BytesLessZero());
  if (!product) return std::nullopt;
  const WordPacking packing = {
      2, [&](const std::vector<Expr>& numbers) { return PackedPair(numbers, form); }};
  return ProgramInWords(program, *product, packing, ScalarOp::kDotI16x2);
}

std::optional<TensorProgram> IntegerPairsVariant(const TensorProgram& program) {
  std::optional<WordProgram> paired = PairBytes(program, WordForm::kHalves);
  return paired ? std::optional(MergedOrPadded(*paired)) : std::nullopt;
}

}  // namespace tcc
