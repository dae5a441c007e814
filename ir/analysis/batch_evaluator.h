#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ir/analysis/formula_program.h"
#include "ir/expr/expr.h"
#include "ir/simplify/interval.h"
#include "support/status.h"

namespace tcc {

// A number for each of some columns (variables, or expressions) at each of some points; a column
// lies together.
class PointTable {
 public:
  PointTable(size_t columns, size_t points)
      : columns_(columns), points_(points), cells_(columns * points) {}

  size_t columns() const { return columns_; }
  size_t points() const { return points_; }
  double& at(size_t column, size_t point) { return cells_[column * points_ + point]; }
  double at(size_t column, size_t point) const { return cells_[column * points_ + point]; }
  std::span<double> column(size_t column) {
    return std::span(cells_).subspan(column * points_, points_);
  }
  std::span<const double> column(size_t column) const {
    return std::span(cells_).subspan(column * points_, points_);
  }

 private:
  size_t columns_;
  size_t points_;
  std::vector<double> cells_;
};

// Expressions of i64, bool and f64 compiled for evaluation at many points at once, exactly: doubles
// hold every integer below 2^53. Where the bounds prove that an integer stays below 2^52, nothing
// is checked; where they do not, one beyond that is NaN at that point, and so is all that is made
// of it. The value is NaN as well where Evaluate gives nullopt. Equal parts of the expressions are
// computed once.
class BatchEvaluator {
 public:
  explicit BatchEvaluator(FormulaProgram program) : program_(std::move(program)) {}
  // Errors as for CompileFormulas. `bounds` as for BoundsOf: what holds at every point that will be
  // asked for.
  static StatusOr<BatchEvaluator> Compile(std::span<const Expr> exprs, std::span<const Var> vars,
                                          const Bounds& bounds = {});

  // A column for each variable, in their order, to one for each expression. The integers in
  // `points` are below 2^52 and within the bounds.
  PointTable Evaluate(const PointTable& points) const;
  // The same at one point.
  std::vector<double> EvaluateAt(std::span<const int64_t> point) const;

  const FormulaProgram& program() const { return program_; }
  size_t instructions() const { return program_.instructions.size(); }
  // Instructions whose result is checked at each point.
  size_t checked_instructions() const;

 private:
  void EvaluateBlock(const PointTable& points, size_t first, size_t count, std::span<double> values,
                     PointTable& results) const;

  FormulaProgram program_;
};

}  // namespace tcc
