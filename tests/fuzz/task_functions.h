#pragma once

#include <string>
#include <vector>

#include "ir/function.h"
#include "ir/support/random.h"
#include "ir/support/status.h"

namespace tcc {

// A kTensor function of a task, and the operators that it came from.
struct TaskFunction {
  std::string nodes;
  Function fn;
};

// The tasks of the small forms of all built-in networks; equal ones once.
const std::vector<TaskFunction>& ZooTaskFunctions();

// Those of one random model (random_model.h).
StatusOr<std::vector<TaskFunction>> RandomTaskFunctions(Random& random);

}  // namespace tcc
