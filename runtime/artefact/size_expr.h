#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/artefact/bytes.h"
#include "support/status.h"

// Sizes, offsets and trip counts of a plan: integer expressions over shape variables and loop
// counters as a small postfix code, evaluated in checked 64-bit arithmetic.
namespace tcc {

// kFloorDiv and kCeilDiv take a divisor >= 1; every other one is an error when evaluated, as is
// overflow.
enum class SizeOp : uint8_t { kConst, kVar, kAdd, kSub, kMul, kFloorDiv, kCeilDiv, kMin, kMax };

struct SizeInstruction {
  SizeOp op = SizeOp::kConst;
  int64_t value = 0;  // kConst: the number; kVar: which variable; else 0

  friend bool operator==(const SizeInstruction&, const SizeInstruction&) = default;
};

// The number 0 unless set. Built from constants and variables by the functions below.
struct SizeExpr {
  std::vector<SizeInstruction> code;

  SizeExpr() : SizeExpr(0) {}
  SizeExpr(int64_t constant) : code{{SizeOp::kConst, constant}} {}  // a number is an expression

  static SizeExpr Variable(int64_t index);

  // The number, if there is no variable and evaluation succeeds.
  std::optional<int64_t> AsConstant() const;

  friend bool operator==(const SizeExpr&, const SizeExpr&) = default;
};

// Folds constants; `op` is not kConst or kVar.
SizeExpr Combine(SizeOp op, const SizeExpr& lhs, const SizeExpr& rhs);

// Checks that the code is well formed: operands are there, exactly one value remains, at most
// 64 values wait at once, variables are below `variables`.
Status CheckSizeExpr(const SizeExpr& expr, int64_t variables);

// Expects CheckSizeExpr to have agreed for variables.size(). Fails on overflow or a bad divisor.
StatusOr<int64_t> Evaluate(const SizeExpr& expr, std::span<const int64_t> variables);

// Variables in the order of their first use.
std::vector<int64_t> VariablesOf(const SizeExpr& expr);

// "max(v0 * 4, 64)"; variable i is named by names[i] where there is one.
std::string ToString(const SizeExpr& expr, std::span<const std::string> names = {});

void Write(ByteWriter& writer, const SizeExpr& expr);
// An unknown operation fails; CheckSizeExpr is the caller's.
SizeExpr ReadSizeExpr(ByteReader& reader);

}  // namespace tcc
