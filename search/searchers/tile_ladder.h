#pragma once

#include <span>
#include <vector>

#include "search/model/task_estimator.h"

namespace tcc {

// Aligned points of a sketch and what the estimator expects of them, the fastest first.
struct ExpectedPoint {
  double ln_seconds = 0;
  Point point;
};

// Up to `most` legal points whose sizes are rungs: powers of two, three times such, what divides
// the largest value, the start. Where they are few all of them are ranked. Else tiles grow from the
// smallest one with whole vectors, a rung at a time, the size first that saves most time per byte
// that its tiles take more; a branch ends at a broken constraint, and the tiles that were passed
// are ranked, not the first that would do (Roller: Zhu et al. 2022, corrected). Empty where the
// estimator knows nothing of the sketch.
std::vector<ExpectedPoint> ClimbLadder(TaskSpace& space, TaskEstimator& estimator, size_t sketch,
                                       size_t most);

}  // namespace tcc
