#pragma once

#include <optional>

#include "codegen_cuda/text/piece.h"
#include "ir/expr/expr.h"

// The text of one operation on scalars in registers (c_types.h). Results of narrow floats are not
// rounded yet: Rounded does that, unless what uses the value rounds it anyway.
namespace tcc {

// What is known of an i64 operation: its operands and result fit an int; its first operand is not
// negative.
struct IndexFacts {
  bool fits_int = false;
  bool non_negative = false;
};

// Arithmetic, min, max and divisions on two operands of type `dtype`.
Piece BinaryText(ExprKind kind, DType dtype, Piece a, Piece b, const Expr& divisor,
                 IndexFacts facts);
Piece ComparisonText(ExprKind kind, DType dtype, const Piece& a, const Piece& b);
Piece CallText(ScalarOp op, DType dtype, const std::vector<Piece>& args);
Piece CastText(const Piece& value, DType from, DType to);
Piece Rounded(const Piece& value, DType dtype);
// Whether the operation's result is rounded by Rounded: on narrow floats, where it is not exact.
bool NeedsRounding(const Expr& expr);

Piece LiteralOf(const IntImm& imm);
// `piece` as a long long.
Piece Widened(const Piece& piece);

}  // namespace tcc
