#pragma once

#include "autodiff_features/features/sketch_formulas.h"
#include "autodiff_features/learned/learned_model.h"
#include "autodiff_features/tape/tape.h"

namespace tcc {

// The smooth twin of a sketch's prediction and of its constraints, with their slopes. Points are
// real; a column is the logarithm of a size.
class SketchSlopes {
 public:
  // Compiles the formulas and the `constraints` of their program. Error: one that cannot be
  // compiled.
  static StatusOr<SketchSlopes> Create(const SketchFormulas& formulas,
                                       const Constraints& constraints);

  size_t sizes() const { return sizes_; }
  size_t constraints() const { return excess_columns_; }
  const Tape& tape() const { return tape_; }

  struct Result {
    std::vector<double> ln_seconds;
    std::vector<double> penalty;
    PointTable cost_slopes;     // d ln seconds / d ln size
    PointTable penalty_slopes;  // d penalty / d ln size
  };
  // Evaluates points. With a model the prediction is the prior corrected by its network, else the
  // prior. The penalty is the sum of max(g, 0)^2, where g is how far a constraint is broken: ln(a /
  // m) for "a at most m", else the expression itself. Constraints on remainders have no useful
  // slope and are left out.
  Result At(const PointTable& ln_sizes, double width, const LearnedModel* model,
            size_t member) const;

 private:
  explicit SketchSlopes(Tape tape) : tape_(std::move(tape)) {}

  // Returns the derivatives of the prediction by the results of the tape.
  PointTable CostSeeds(const PointTable& values, const LearnedModel* model, size_t member,
                       std::vector<double>& ln_seconds) const;
  PointTable PenaltySeeds(const PointTable& values, std::vector<double>& penalty) const;

  FeatureKind kind_ = FeatureKind::kNest;
  size_t sizes_ = 0;
  size_t feature_columns_ = 0;  // followed by one for ln seconds, then the constraints
  size_t excess_columns_ = 0;
  Tape tape_;
};

}  // namespace tcc
