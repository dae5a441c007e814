#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/expr/expr.h"
#include "ir/simplify/interval.h"
#include "support/status.h"

namespace tcc {

// The columns: enumerator, number of operands, exact value for operands a, b and c; comparisons
// give 1 or 0.
//
// A NaN stands for an undefined value. It propagates through all operations, comparisons, minima
// and maxima. A choice is NaN where its condition or the chosen arm is.
#define TCC_FORMULA_OPS(X)              \
  X(kAdd, 2, "a + b")                   \
  X(kSub, 2, "a - b")                   \
  X(kMul, 2, "a * b")                   \
  X(kDiv, 2, "a / b, as IEEE has it")   \
  X(kFloorDiv, 2, "floor(a / b)")       \
  X(kFloorMod, 2, "a - floor(a/b) * b") \
  X(kCeilDiv, 2, "ceil(a / b)")         \
  X(kMin, 2, "the smaller one")         \
  X(kMax, 2, "the larger one")          \
  X(kEq, 2, "a == b")                   \
  X(kNe, 2, "a != b")                   \
  X(kLt, 2, "a < b")                    \
  X(kLe, 2, "a <= b")                   \
  X(kSelect, 3, "a ? b : c")            \
  X(kSelectReal, 3, "a ? b : c of f64") \
  X(kExp, 1, "e^a")                     \
  X(kLog, 1, "natural logarithm of a")  \
  X(kLog1p, 1, "log(1 + a)")            \
  X(kSqrt, 1, "square root of a")

enum class FormulaOp : uint8_t {
#define TCC_FORMULA_OP_ENUM(op, operands, meaning) op,
  TCC_FORMULA_OPS(TCC_FORMULA_OP_ENUM)
#undef TCC_FORMULA_OP_ENUM
};

constexpr int OperandsOf(FormulaOp op) {
  constexpr int kOperands[] = {
#define TCC_FORMULA_OPERANDS(op, operands, meaning) operands,
      TCC_FORMULA_OPS(TCC_FORMULA_OPERANDS)
#undef TCC_FORMULA_OPERANDS
  };
  return kOperands[static_cast<int>(op)];
}
constexpr bool Compares(FormulaOp op) {
  return op == FormulaOp::kEq || op == FormulaOp::kNe || op == FormulaOp::kLt ||
         op == FormulaOp::kLe;
}

// Expressions as a list of distinct instructions on doubles. Values are numbered: variables,
// constants, instructions; an instruction's operands have smaller numbers than its result. Unused
// operands are 0.
struct FormulaProgram {
  struct Instruction {
    FormulaOp op;
    // The result is NaN where an operand is NaN, where a divisor is below 1, and from 2^52 on.
    bool checked;
    uint32_t a, b, c;
  };

  size_t values() const { return vars + constants.size() + instructions.size(); }

  size_t vars = 0;
  std::vector<double> constants;
  std::vector<Instruction> instructions;
  std::vector<uint32_t> results;
};

// Compiles expressions of i64, bool and f64. Doubles hold every integer below 2^53, so integers are
// exact: an instruction on them is checked unless the bounds prove that its value stays below 2^52.
// Instructions on f64 are never checked. A cast from i64 or bool to f64 costs nothing: products of
// extents that may pass 2^52 are written as products of casts. The sign of a zero is not kept.
//
// Instructions on constants alone are folded, even with an undefined result, so each instruction
// depends on a variable. Variables are i64 (within `bounds`, like BoundsOf's), bool or f64
// (finite).
//
// Error: a variable that is not in `vars`, an integer constant from 2^52 on, a load, a call other
// than exp, log, log1p and sqrt, a cast from a float to an integer, a value of another type.
StatusOr<FormulaProgram> CompileFormulas(std::span<const Expr> exprs, std::span<const Var> vars,
                                         const Bounds& bounds = {});

// Writes the exact values of `step` at `count` points; the operands lie in `a`, `b` and `c`, the
// result in none of them.
void ApplyExactly(const FormulaProgram::Instruction& step, const double* a, const double* b,
                  const double* c, double* __restrict result, size_t count);

}  // namespace tcc
