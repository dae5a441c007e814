#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autodiff_features/sketch_slopes.h"
#include "schedule/space/space.h"

// Gradient descent on a sketch's predicted time through real sizes, and rounding to legal points
// (after Felix: Zhao et al. 2024).
namespace tcc {

// The exact ln seconds of legal points, which decide the ranking.
using PointPredictor = std::function<std::vector<double>(std::span<const Point>)>;

struct RankedPoint {
  double ln_seconds = 0;
  Point point;
};
// Returns whether `a` is predicted faster; NaN comes last, equal predictions are ordered by the
// points.
bool IsRankedBefore(const RankedPoint& a, const RankedPoint& b);

struct DescentOptions {
  int steps = 120;
  // Both fall: the rate along half a cosine wave, the width geometrically over the first two
  // thirds.
  double first_rate = 0.15, last_rate = 0.02;
  double first_width = 0.5, last_width = 0.1;
  int round_every = 4;                  // points are rounded every so many steps
  size_t polished = 8;                  // the number of rounded points to polish, best first
  size_t polish_evaluations = 200;      // the evaluations per polished point
  const LearnedModel* model = nullptr;  // its members take turns; nullptr: the prior alone
};

struct DescentResult {
  std::vector<RankedPoint> best;  // different legal points, the fastest first
  int64_t evaluations = 0;        // evaluations of the exact prediction
};

// Descends from each seed by Adam. Sizes move on a logarithmic scale, clamped to their ranges;
// broken constraints push back as hard as twice the cost's slope. Points on the way are rounded,
// made legal and ranked exactly; the best ones are polished.
DescentResult Descend(const SketchSlopes& slopes, const SearchSpace& space,
                      std::span<const Point> seeds, const PointPredictor& predict,
                      const DescentOptions& options, Random& random);

// Returns the legal neighbours of a point: one size changed to its neighbours or to the allowed
// values nearest to twice and half of it, or one size doubled while another of the same axis is
// halved.
std::vector<Point> PolishMoves(const SearchSpace& space, const Point& point);

// Moves to the best of the moves while that is faster.
RankedPoint Polish(const SearchSpace& space, RankedPoint point, const PointPredictor& predict,
                   size_t evaluations, int64_t& used);

}  // namespace tcc
