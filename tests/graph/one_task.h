#pragma once

#include "graph/variants/task.h"
#include "tests/graph/one_node.h"

// Graphs that are one kernel, as tasks, for the tests of variants.
namespace tcc {

// Fails the test where the graph is more than one kernel.
Task OneTask(const TestGraph& test, NumericMode numeric = NumericMode::kStrict);
std::vector<int64_t> ShapeOf(const Buffer& buffer);

}  // namespace tcc
