#pragma once

#include "ir/analysis/batch_evaluator.h"
#include "ir/analysis/formula_program.h"

namespace tcc {

// A program of differentiable formulas: the same instructions evaluated exactly, smoothly at real
// points, and backward for derivatives (reverse mode: Griewank and Walther, Evaluating Derivatives,
// ch. 3). The smooth twin and the slope of each op are those of smooth_ops.h. Sizes and constants
// of a device are variables alike.
class Tape {
 public:
  explicit Tape(FormulaProgram program) : exact_(std::move(program)) {}

  const FormulaProgram& program() const { return exact_.program(); }

  // Evaluates a column for each variable to one for each result, like BatchEvaluator.
  PointTable Exact(const PointTable& points) const { return exact_.Evaluate(points); }

  // Returns smooth values of all results at real points. With width -> 0 they approach the exact
  // ones, except for ceildiv, div and mod; at width 0 they are the exact ones.
  PointTable Smooth(const PointTable& points, double width) const;

  struct Slopes {
    PointTable values;    // the values of Smooth
    PointTable gradient;  // a column for each variable
  };
  // Returns d(sum over results of seed * result) / d variable at each point; `seeds` has a column
  // for each result and as many points. The forward sweep gives the values too, so that a caller
  // whose seeds do not depend on them needs no other one. The backward sweep skips instructions
  // that only results without a seed use.
  //
  // Width 0 gives exact values and one-sided slopes, none for comparisons; it is for fitting
  // constants to records.
  Slopes Gradient(const PointTable& points, double width, const PointTable& seeds) const;

 private:
  BatchEvaluator exact_;
};

}  // namespace tcc
