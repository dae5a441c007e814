#include "graph/variants/variants.h"
#include "graph/variants/word_product.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

const DType kBFloat16(DTypeCode::kBFloat16);

bool IsWidened(const Expr& value, DType from) {
  const auto* cast = value.as<Cast>();
  return cast && cast->value.dtype() == from;
}

// Values that were bf16; with `rounds`, also those that may be rounded to it. A product of two f16
// keeps its type under any mode.
WordNumbers BFloats(bool rounds) {
  return {kFloat32, [rounds](const Expr& factor) {
            if (IsWidened(factor, kBFloat16)) return true;
            return rounds && HasLoad(factor) && !IsWidened(factor, kFloat16);
          }};
}

}  // namespace

std::optional<TensorProgram> BFloatPairsVariant(const TensorProgram& program, bool rounds) {
  std::optional<WordProduct> product = FindWordProduct(program, BFloats(rounds));
  if (!product) return std::nullopt;
  const WordPacking packing = {
      2, [](const std::vector<Expr>& numbers) { return CallOf(ScalarOp::kPackBf16x2, numbers); }};
  auto paired = ProgramInWords(program, *product, packing, ScalarOp::kDotBf16x2);
  return paired ? std::optional(MergedOrPadded(*paired)) : std::nullopt;
}

}  // namespace tcc
