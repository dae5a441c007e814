#pragma once

#include <string>
#include <vector>

#include "autodiff_features/learned/learned_model.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

struct FirstPickOptions {
  std::vector<std::string> networks;
  Target target;
  int threads = 1;
  size_t points = 20'000;  // per task, over all sketches
  int rounds = 5;
  const LearnedModel* model = nullptr;  // nullptr: the prior alone
  bool json = false;
};

// Times the point that the estimator predicts to be the fastest of many random points of each task,
// and the schedule that is compiled without a search, in turns, with cold operands. Prints a line
// per task and the geometric mean of the ratios.
Status MeasureFirstPicks(const FirstPickOptions& options);

}  // namespace tcc
