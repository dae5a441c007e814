#pragma once

#include <cstdint>
#include <string>

namespace tcc {

// How tightly a piece of C text binds: an operand that binds less than its operator asks for gets
// parentheses.
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
  // Of an i64: whether the C expression is a long long, or an int because its value and those that
  // it is made of fit.
  bool wide = true;
};

// With parentheses where it binds less tightly than `least`.
inline std::string In(const Piece& piece, Precedence least) {
  return piece.precedence > least ? "(" + piece.text + ")" : piece.text;
}

}  // namespace tcc
