#include "ir/expr/scalar_op.h"

#include <iterator>

namespace tcc {
namespace {

constexpr ScalarOpRow kRows[] = {
#define TCC_SCALAR_OP_ROW(text, op, arity, rule, semantics) \
  {text, arity, ScalarTypeRule::rule, semantics},
    TCC_SCALAR_OPS(TCC_SCALAR_OP_ROW)
#undef TCC_SCALAR_OP_ROW
};

}  // namespace

const ScalarOpRow& RowOf(ScalarOp op) {
  return kRows[static_cast<int>(op)];
}

std::optional<ScalarOp> FindScalarOp(std::string_view text) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (kRows[i].text == text) return static_cast<ScalarOp>(i);
  }
  return std::nullopt;
}

std::optional<DType> ResultType(ScalarOp op, DType dtype) {
  switch (RowOf(op).rule) {
    case ScalarTypeRule::kFloat:
      return dtype.is_float() ? std::optional(dtype) : std::nullopt;
    case ScalarTypeRule::kSingle:
      return dtype.element() == kFloat32 ? std::optional(dtype) : std::nullopt;
    case ScalarTypeRule::kInteger:
      return dtype.is_integer() ? std::optional(dtype) : std::nullopt;
    case ScalarTypeRule::kWord:
      return dtype.element() == kInt32 ? std::optional(dtype) : std::nullopt;
    case ScalarTypeRule::kPack:
      return dtype.element() == kFloat32 ? std::optional(kInt32.WithLanes(dtype.lanes()))
                                         : std::nullopt;
    case ScalarTypeRule::kUnpack:
      return dtype.element() == kInt32 ? std::optional(kFloat32.WithLanes(dtype.lanes()))
                                       : std::nullopt;
    case ScalarTypeRule::kNumeric:
      return dtype.is_float() || dtype.is_integer() ? std::optional(dtype) : std::nullopt;
    case ScalarTypeRule::kTest:
      return dtype.is_float() ? std::optional(kBool.WithLanes(dtype.lanes())) : std::nullopt;
  }
  return std::nullopt;
}

bool KeepsType(ScalarOp op) {
  ScalarTypeRule rule = RowOf(op).rule;
  return rule != ScalarTypeRule::kPack && rule != ScalarTypeRule::kUnpack &&
         rule != ScalarTypeRule::kTest;
}

bool IsDotOfWords(ScalarOp op) {
  return op == ScalarOp::kDotI16x2 || op == ScalarOp::kDotU8I8x4 || op == ScalarOp::kDotI8I8x4 ||
         op == ScalarOp::kDotBf16x2;
}

}  // namespace tcc
