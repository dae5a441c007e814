#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr/substitute.h"
#include "ir/expr/tensor_expr.h"

// The building blocks of the variants of a program.
namespace tcc {

// Returns `hint`, or else the first of hint_1, hint_2, .. that no stage or buffer of the program
// has.
std::string FreeName(const TensorProgram& program, const std::string& hint);

// Adds an intermediate buffer with FreeName as its name.
Buffer AddIntermediate(TensorProgram& program, const std::string& hint, DType dtype,
                       std::vector<Expr> shape);

// Returns a stage that writes each element of the buffer, over axes of these names; it has no
// values yet.
ComputeExpr StageOver(const Buffer& buffer, const std::vector<const char*>& names);
// Returns the same over axes i0, i1, ..
ComputeExpr StageOver(const Buffer& buffer);

// Returns whether every axis, also of the reduction, has a point for all values of the Shape
// variables.
bool IsNeverEmpty(const ComputeExpr& stage);

// Returns the axis's extent at the usual sizes, 0 where it has none. For costs.
int64_t UsualExtent(const Axis& axis);

// Returns fresh axes in place of some, and adds what replaces their variables to `values`.
std::vector<Axis> FreshAxes(const std::vector<Axis>& axes, Substitution& values);

// The sums of a value over all axes that a stage reduces, for each point of its other axes that the
// value uses.
struct PartialSums {
  ComputeExpr stage;
  Buffer buffer;              // its result, which is kept
  std::vector<Expr> indices;  // of the entry for a result of the stage
};

// Adds the buffer of such sums of i32, named after the stage and `suffix`. Returns nullopt if the
// stage reduces an axis that the value does not use.
std::optional<PartialSums> SumPartially(TensorProgram& program, const ComputeExpr& stage,
                                        const Expr& value, const char* suffix);

// The values that an index takes: `extent` of them from `low` on.
struct IndexRange {
  int64_t low = 0;
  Expr extent;
};

// Returns the range of an index over the axes of a stage; nullopt if it has no bounds, or if its
// lowest value depends on Shape variables.
std::optional<IndexRange> RangeOf(const ComputeExpr& stage, const Expr& index);

// The ranges of a load's indices.
using Reach = std::vector<IndexRange>;

// Returns the ranges over the axes of a stage; none if an index has none.
Reach ReachOf(const ComputeExpr& stage, const Load& load);

// Returns whether every term of the predicate says that an index of the load is inside the buffer,
// from below or above.
bool KeepsInside(const Expr& predicate, const Load& load, const Buffer& buffer);

// Returns the condition that `places`, which take the values of `reach`, lie inside the input.
Expr InsideOf(const Buffer& input, const std::vector<Expr>& places, const Reach& reach);

// Returns the input's element at `places`, which take the values of `reach`, and the fill where one
// is outside.
Expr ElementOrFill(const Buffer& input, const std::vector<Expr>& places, const Reach& reach,
                   const Expr& fill);

// Returns whether the buffer is a constant, or stages make it of nothing else.
bool IsMadeOfConstants(const TensorProgram& program, const Var& var);

// Makes each load of `wide`, a buffer of f32, a load of `narrow` that is widened.
void WidenLoads(TensorProgram& program, const Var& wide, const Var& narrow);

// Returns the two factors of a product of numbers, or of words of two or four numbers; nullopt if
// the value is none.
std::optional<std::pair<Expr, Expr>> FactorsOf(const Expr& value);

}  // namespace tcc
