#pragma once

#include "ir/analysis/batch_evaluator.h"
#include "ir/analysis/formula_program.h"

namespace tcc {

// Formulas that can be descended: the same instructions evaluated exactly, smoothly at real points,
// and backward for derivatives (reverse mode: Griewank and Walther, Evaluating Derivatives, ch. 3).
// The smooth twin and the slope of each op are those of smooth_ops.h. All variables are alike,
// sizes and constants of a device.
class Tape {
 public:
  explicit Tape(FormulaProgram program) : exact_(std::move(program)) {}

  const FormulaProgram& program() const { return exact_.program(); }

  // A column for each variable to one for each result, as BatchEvaluator has it.
  PointTable Exact(const PointTable& points) const { return exact_.Evaluate(points); }

  // Smooth values of all results at real points. width -> 0 gives the exact ones but for ceildiv,
  // div and mod; at width 0 they are the exact ones.
  PointTable Smooth(const PointTable& points, double width) const;

  struct Slopes {
    PointTable values;    // those of Smooth
    PointTable gradient;  // a column for each variable
  };
  // d(sum over results of seed * result) / d variable at each point; `seeds` has a column for each
  // result and as many points. The forward sweep that this needs gives the values too, so that a
  // caller whose seeds do not depend on them needs no other one. Instructions that only results
  // without a seed use are left out on the way back.
  //
  // Width 0: exact values, one-sided slopes, none of comparisons; for fitting constants to records.
  Slopes Gradient(const PointTable& points, double width, const PointTable& seeds) const;

 private:
  BatchEvaluator exact_;
};

}  // namespace tcc
