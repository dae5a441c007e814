#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen_cuda/text/dialect.h"
#include "ir/expr/expr.h"

// The text of one operation on scalars in registers (c_types.h). Results of narrow floats are not
// rounded yet: Rounded does that.
namespace tcc {

// The precedence of a piece of C text, tightest first. An operand that binds less tightly than its
// operator requires gets parentheses.
enum class Precedence : uint8_t {
  kPrimary,
  kUnary,
  kProduct,
  kSum,
  kShift,
  kOrder,
  kEquality,
  kBits,
  kAnd,
  kOr,
  kTernary,
};

// The text of a scalar expression.
struct Piece {
  std::string text;
  Precedence precedence = Precedence::kPrimary;
  // For an i64: true if the C expression has 64 bits, false if it is an int because its value
  // and all intermediate values fit.
  bool wide = true;
  // The text of a narrow float in its memory type, if it has one: what `text` widens. A store
  // takes it as it is.
  std::string stored = {};
};

// Returns the text, in parentheses if it binds less tightly than `least`.
inline std::string In(const Piece& piece, Precedence least) {
  return piece.precedence > least ? "(" + piece.text + ")" : piece.text;
}

// The facts known about an i64 operation: whether its operands and result fit an int, and whether
// its first operand is non-negative.
struct IndexFacts {
  bool fits_int = false;
  bool non_negative = false;
};

// Returns the text of arithmetic, min, max or a division on two operands of type `dtype`.
Piece BinaryText(const Dialect& dialect, ExprKind kind, DType dtype, Piece a, Piece b,
                 const Expr& divisor, IndexFacts facts);
Piece ComparisonText(ExprKind kind, DType dtype, const Piece& a, const Piece& b);
Piece CallText(const Dialect& dialect, ScalarOp op, DType dtype, const std::vector<Piece>& args);
Piece CastText(const Dialect& dialect, const Piece& value, DType from, DType to);
// Returns the value of a cell, or of another text of the memory type.
Piece FromMemory(const Dialect& dialect, std::string cell, DType dtype);
// Returns the text of a value in its memory type; only a narrow float without one is converted.
std::string MemoryText(const Piece& value, DType dtype);
// Returns the result of an operation rounded to its type, a narrow float.
Piece Rounded(const Dialect& dialect, const Piece& value, DType dtype);
// Checks whether the operation's result needs Rounded: it is a narrow float and not always exact.
bool NeedsRounding(const Expr& expr);

Piece LiteralOf(const Dialect& dialect, const IntImm& imm);
Piece LiteralOf(const Dialect& dialect, const FloatImm& imm);
// Returns `piece` with 64 bits.
Piece Widened(const Dialect& dialect, const Piece& piece);

}  // namespace tcc
