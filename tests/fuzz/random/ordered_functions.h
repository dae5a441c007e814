#pragma once

#include <vector>

#include "tests/fuzz/random/task_functions.h"

namespace tcc {

// Tasks of operators whose reductions have an order, or several results: scatters, running sums,
// maxima with their places. The built-in networks have none of them. Their axes stand in every
// order: in front of the reduction, behind it, on both sides, nowhere.
std::vector<TaskFunction> OrderedTaskFunctions();

}  // namespace tcc
