#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/artefact/bytes.h"
#include "support/status.h"

// Sizes, offsets and trip counts of a plan: integer expressions over the plan's variables (plan.h)
// as a small postfix code, evaluated in checked 64-bit arithmetic.
namespace tcc {

// An operation on sizes. kFloorDiv, kCeilDiv and kMod (lhs - floordiv(lhs, rhs) * rhs) take a
// divisor >= 1. Any other divisor is an error when evaluated, as is overflow. kLess and kEqual give
// 1 or 0. kSelect takes three operands: condition, the value where that is not 0, the other value;
// both values are evaluated.
// clang-format off
enum class SizeOp : uint8_t {
  kConst, kVar, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMin, kMax, kMod, kLess, kEqual, kSelect,
};
// clang-format on

struct SizeInstruction {
  SizeOp op = SizeOp::kConst;
  int64_t value = 0;  // kConst: the number; kVar: the variable's index; else 0

  friend bool operator==(const SizeInstruction&, const SizeInstruction&) = default;
};

// An expression over sizes, 0 by default, built from constants and variables by the functions
// below.
struct SizeExpr {
  std::vector<SizeInstruction> code;

  SizeExpr() : SizeExpr(0) {}
  SizeExpr(int64_t constant) : code{{SizeOp::kConst, constant}} {}  // a number is an expression

  static SizeExpr Variable(int64_t index);

  // Returns the number, if there is no variable and evaluation succeeds.
  std::optional<int64_t> AsConstant() const;

  friend bool operator==(const SizeExpr&, const SizeExpr&) = default;
};

// Combines two expressions and folds constants. Expects `op` to take two operands.
SizeExpr Combine(SizeOp op, const SizeExpr& lhs, const SizeExpr& rhs);
// Makes a kSelect; a constant condition decides now.
SizeExpr SelectSize(const SizeExpr& condition, const SizeExpr& taken, const SizeExpr& other);

// Checks that the code is well formed: every operation has its operands, exactly one value remains,
// at most 64 values are on the stack at once, variables are below `variables`.
Status CheckSizeExpr(const SizeExpr& expr, int64_t variables);

// Evaluates the expression. Expects CheckSizeExpr to have accepted it for variables.size(). Fails
// on overflow or a bad divisor.
StatusOr<int64_t> Evaluate(const SizeExpr& expr, std::span<const int64_t> variables);

// Returns the variables in the order of their first use.
std::vector<int64_t> VariablesOf(const SizeExpr& expr);

// Returns "max(v0 * 4, 64)"; variable i is named by names[i] where there is one.
std::string ToString(const SizeExpr& expr, std::span<const std::string> names = {});

void Write(ByteWriter& writer, const SizeExpr& expr);
// Reads an expression. Fails for an unknown operation; the caller still has to call CheckSizeExpr.
SizeExpr ReadSizeExpr(ByteReader& reader);

}  // namespace tcc
