#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

// What Loop and If have beyond other nodes: bodies, and operands of several kinds.
namespace tcc {

// Bodies within bodies.
inline constexpr int kMaxBodyDepth = 64;

// How a Loop's operands and results are divided (ir/graph/graph.h has their order).
struct LoopParts {
  size_t carried = 0;
  size_t scan_inputs = 0;
  size_t scan_outputs = 0;

  size_t first_scan_input() const { return 2 + carried; }
  size_t first_captured() const { return 2 + carried + scan_inputs; }
};
LoopParts PartsOf(const Node& loop);

// Whether a scan takes or puts its slices from the last to the first; `which` is
// "scan_input_directions" or "scan_output_directions".
bool RunsBackward(const Node& loop, const std::string& which, size_t index);

// Where the captured operands begin, among the node's and among each body's inputs.
size_t FirstCaptured(const Node& node);
size_t FirstCapturedInput(const Node& node);

// The numbers of bodies, operands and results of any node, and the dtypes on both sides of each
// body: InvalidArgument with the node's name where they do not fit. Expects ids within range.
Status CheckBodies(const Graph& graph, const Node& node);

}  // namespace tcc
