#pragma once

#include <string>
#include <vector>

#include "graph/variants/task.h"
#include "ir/graph/graph.h"
#include "tests/fuzz/random/operator_models.h"

namespace tcc {

// A task of a network, with the arguments that it gets when the network runs.
struct TaskWithArguments {
  Task task;
  std::vector<Tensor> arguments;  // results are zeros
};

// A model of one operator, taken as far as tasks.
struct OperatorTasks {
  RandomModel model;
  Graph graph;  // after the graph passes
  std::vector<TaskWithArguments> tasks;
  size_t largest = 0;  // the task that computes most: the others put things where it wants them
};

// Never empty: what needs no kernel (a transposition that moves nothing) is drawn again.
StatusOr<OperatorTasks> MakeOperatorTasks(const OperatorRow& row, Random& random,
                                          DTypeCode real = DTypeCode::kFloat32);

}  // namespace tcc
