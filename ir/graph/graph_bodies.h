#pragma once

#include <string>
#include <vector>

#include "ir/graph/graph.h"

// The structure of Loop and If: bodies, and operands of several kinds.
namespace tcc {

// The limit on nesting of bodies.
inline constexpr int kMaxBodyDepth = 64;

// The numbers of a Loop's operands and results by kind (ir/graph/graph.h has their order).
struct LoopParts {
  size_t carried = 0;
  size_t scan_inputs = 0;
  size_t scan_outputs = 0;

  size_t first_scan_input() const { return 2 + carried; }
  size_t first_captured() const { return 2 + carried + scan_inputs; }
};
LoopParts PartsOf(const Node& loop);

// Returns whether a scan reads or writes its slices from the last to the first; `which` is
// "scan_input_directions" or "scan_output_directions".
bool RunsBackward(const Node& loop, const std::string& which, size_t index);

// Return the index of the first captured operand, among the node's and among each body's inputs.
size_t FirstCaptured(const Node& node);
size_t FirstCapturedInput(const Node& node);

// Checks the numbers of bodies, operands and results of any node, and the dtypes on both sides of
// each body. Fails with InvalidArgument and the node's name. Expects ids within range.
Status CheckBodies(const Graph& graph, const Node& node);

}  // namespace tcc
