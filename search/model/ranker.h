#pragma once

#include <limits>
#include <span>
#include <vector>

#include "search/space/task_space.h"

namespace tcc {

struct Prediction {
  double ln_seconds = std::numeric_limits<double>::quiet_NaN();  // per call; NaN: nothing is known
  double deviation = 0;                                          // of ln_seconds; 0: not known
};

// A predictor of the times of a task's candidates, for one thread at a time.
class Ranker {
 public:
  virtual ~Ranker() = default;
  // Returns a prediction for each point of one sketch.
  virtual std::vector<Prediction> Rank(size_t sketch, std::span<const Point> points) = 0;
};

// Returns the same for points of any sketches, in their order.
std::vector<Prediction> RankAll(Ranker& ranker, std::span<const SearchPoint> points);

}  // namespace tcc
