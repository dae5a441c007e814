#pragma once

#include <optional>

#include "codegen_cuda/text/piece.h"
#include "ir/expr/expr.h"

// The text of one operation on scalars in registers (c_types.h). Results of narrow floats are not
// rounded yet: Rounded does that, unless the consumer of the value rounds it anyway.
namespace tcc {

// The facts known about an i64 operation: whether its operands and result fit an int, and whether
// its first operand is non-negative.
struct IndexFacts {
  bool fits_int = false;
  bool non_negative = false;
};

// Returns the text of arithmetic, min, max or a division on two operands of type `dtype`.
Piece BinaryText(ExprKind kind, DType dtype, Piece a, Piece b, const Expr& divisor,
                 IndexFacts facts);
Piece ComparisonText(ExprKind kind, DType dtype, const Piece& a, const Piece& b);
Piece CallText(ScalarOp op, DType dtype, const std::vector<Piece>& args);
Piece CastText(const Piece& value, DType from, DType to);
Piece Rounded(const Piece& value, DType dtype);
// Checks whether the operation's result needs Rounded: it is a narrow float and not always exact.
bool NeedsRounding(const Expr& expr);

Piece LiteralOf(const IntImm& imm);
// Returns `piece` as a long long.
Piece Widened(const Piece& piece);

}  // namespace tcc
