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

// A table of numbers with a column per variable or expression and a row per point; columns are
// contiguous.
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

// An evaluator of compiled i64, bool and f64 expressions at many points at once. Results are exact:
// doubles hold every integer below 2^53. Where the bounds do not prove that an integer stays below
// 2^52, it is checked: at a point where it is larger, it and all results that depend on it are NaN.
// The value is also NaN where Evaluate returns nullopt. Common subexpressions are computed once.
class BatchEvaluator {
 public:
  explicit BatchEvaluator(FormulaProgram program);
  // Compiles the expressions. Errors: CompileFormulas'. `bounds`, like BoundsOf's, must hold at
  // every point that will be evaluated.
  static StatusOr<BatchEvaluator> Compile(std::span<const Expr> exprs, std::span<const Var> vars,
                                          const Bounds& bounds = {});

  // Maps a table with a column per variable, in order, to one with a column per expression. Expects
  // the integers in `points` to be below 2^52 and within the bounds.
  PointTable Evaluate(const PointTable& points) const;
  // Evaluates at one point.
  std::vector<double> EvaluateAt(std::span<const int64_t> point) const;

  const FormulaProgram& program() const { return program_; }
  size_t instructions() const { return program_.instructions.size(); }

 private:
  void EvaluateBlock(const PointTable& points, size_t first, size_t count, size_t width,
                     std::span<double> values, PointTable& results) const;

  FormulaProgram program_;
  // The place of each value. An instruction's value takes one that no later instruction needs, so
  // that places stay in the nearest cache.
  std::vector<uint32_t> places_;
  uint32_t place_count_ = 0;
};

}  // namespace tcc
