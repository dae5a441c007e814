#pragma once

#include <functional>
#include <span>
#include <vector>

#include "autodiff_features/sketch_slopes.h"
#include "schedule/space/space.h"

// Descent on a sketch's predicted time through real sizes, and back to legal points (after Felix:
// Zhao et al. 2024).
namespace tcc {

// Exact ln seconds of legal points: what ranks.
using PointPredictor = std::function<std::vector<double>(std::span<const Point>)>;

struct RankedPoint {
  double ln_seconds = 0;
  Point point;
};
// Whether `a` is predicted faster; NaN comes last, equal predictions are ordered by the points.
bool IsRankedBefore(const RankedPoint& a, const RankedPoint& b);

struct DescentOptions {
  int steps = 120;
  // Both fall: the rate along half a wave, the width geometrically over the first two thirds.
  double first_rate = 0.15, last_rate = 0.02;
  double first_width = 0.5, last_width = 0.1;
  int round_every = 4;                  // steps between those whose points are rounded
  size_t polished = 8;                  // of the best rounded points
  size_t polish_evaluations = 200;      // of each
  const LearnedModel* model = nullptr;  // its members take turns; nullptr: the prior
};

struct DescentResult {
  std::vector<RankedPoint> best;  // different legal points, the fastest first
  int64_t evaluations = 0;        // of the exact prediction
};

// Descends from each seed by Adam. Sizes move by logarithms, clamped to their ranges; broken
// constraints push back as hard as twice the cost's slope. Points on the way are rounded, made
// legal and ranked exactly, the best are polished.
DescentResult Descend(const SketchSlopes& slopes, const SearchSpace& space,
                      std::span<const Point> seeds, const PointPredictor& predict,
                      const DescentOptions& options, Random& random);

// The legal points next to one: a size to its neighbours, to the allowed values nearest to twice
// and half of it, and one size twice while another of the same axis is half.
std::vector<Point> PolishMoves(const SearchSpace& space, const Point& point);

// Moves to the best of the moves as long as that is faster.
RankedPoint Polish(const SearchSpace& space, RankedPoint point, const PointPredictor& predict,
                   size_t evaluations, int64_t& used);

}  // namespace tcc
