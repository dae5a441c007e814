#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string_view>

#include "ir/graph/graph.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Who takes a pass to the bodies of control flow: RunGraphPasses after the graph around them, or
// the pass itself.
enum class Bodies : uint8_t { kEach, kVisited };
enum class PassTargets : uint8_t { kAll, kCpu };

struct GraphPass {
  std::string_view name;
  Status (*run)(Graph& graph);
  std::string_view why_here;
  Bodies bodies = Bodies::kEach;
  PassTargets targets = PassTargets::kAll;
};

// Returns the passes in order.
std::span<const GraphPass> GraphPasses();

// Turns an imported graph into the form that FuseGraph expects: shapes everywhere, known values
// folded, layouts assigned, operators chosen for the kind of target. Fails with the first pass's
// error, and with Cancelled if a stop is requested between two passes. `ended` is called after each
// pass.
using PassHook = std::function<void(const GraphPass& pass, const Graph& graph)>;
Status RunGraphPasses(Graph& graph, TargetKind target = TargetKind::kReference,
                      const std::stop_token& stop = {}, const PassHook& ended = {});

}  // namespace tcc
