#pragma once

#include <span>
#include <stop_token>
#include <string_view>

#include "ir/graph/graph.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

struct GraphPass {
  std::string_view name;
  Status (*run)(Graph& graph);
  std::string_view why_here;
  bool visits_bodies = false;  // whether the pass visits bodies itself; others run on each body too
  bool is_for_cpus = false;    // whether the pass runs for CPUs only
};

// Returns the passes in order.
std::span<const GraphPass> GraphPasses();

// Turns an imported graph into the form that FuseGraph expects: shapes everywhere, known values
// folded, layouts assigned, operators chosen for the kind of target. Fails with the first pass's
// error, and with Cancelled if a stop is requested between two passes.
Status RunGraphPasses(Graph& graph, TargetKind target = TargetKind::kReference,
                      const std::stop_token& stop = {});

}  // namespace tcc
