#pragma once

#include <cstdint>
#include <string>

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
  // For an i64: true if the C expression is a long long, false if it is an int because its value
  // and all intermediate values fit.
  bool wide = true;
};

// Returns the text, in parentheses if it binds less tightly than `least`.
inline std::string In(const Piece& piece, Precedence least) {
  return piece.precedence > least ? "(" + piece.text + ")" : piece.text;
}

}  // namespace tcc
