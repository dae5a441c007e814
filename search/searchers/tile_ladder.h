#pragma once

#include <span>
#include <vector>

#include "search/model/task_estimator.h"

namespace tcc {

// An aligned point of a sketch and the estimator's prediction.
struct ExpectedPoint {
  double ln_seconds = 0;
  Point point;
};

// Returns up to `most` legal points whose sizes are rungs: powers of two, three times such,
// divisors of the largest value, the start; the fastest first. Ranks all points if they are few.
// Else tiles grow from the smallest one with whole vectors, one rung at a time: first the size that
// saves the most time per additional byte of tiles. A branch ends at a broken constraint, and all
// tiles that were passed are ranked, not only the first sufficient one (Roller: Zhu et al. 2022,
// corrected). Empty if the estimator knows nothing about the sketch.
std::vector<ExpectedPoint> ClimbLadder(TaskSpace& space, TaskEstimator& estimator, size_t sketch,
                                       size_t most);

}  // namespace tcc
