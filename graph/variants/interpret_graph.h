#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/passes/fuse_graph.h"
#include "ir/graph/graph.h"
#include "support/numeric_mode.h"
#include "support/status.h"

namespace tcc {

struct Task;

struct InterpretGraphOptions {
  int threads = 1;                             // the results do not depend on it
  Fusion fusion = Fusion::kFused;              // kNodeByNode rounds every value to its type
  std::optional<uint64_t> rounding_seed = {};  // see InterpretOptions
  NumericMode numeric = NumericMode::kStrict;
  bool rounds_attention = false;  // by that mode (NumericOptions)
  // Called after each task.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // Called with each value of the graph or of a body, inputs included and constants not, once it is
  // known; may put other bytes in its place. A value of a loop's body is seen in each iteration.
  std::function<void(const Graph& graph, ValueId value, Tensor& tensor)> observe = {};
  // Runs a task on its arguments, in place, instead of the interpreter.
  std::function<Status(const Task& task, std::vector<Tensor>& arguments)> run_task = {};
};

// Runs the graph, before or after the graph passes, by fusing it and interpreting each task's first
// variant: slow, and the reference for everything faster. Expects one tensor per input, in the
// graph's order, of its dtype and shape, and known dimensions. Returns the outputs.
StatusOr<std::vector<Tensor>> InterpretGraph(const Graph& graph, const std::vector<Tensor>& inputs,
                                             const InterpretGraphOptions& options = {});

}  // namespace tcc
