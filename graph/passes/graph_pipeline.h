#pragma once

#include <span>
#include <stop_token>
#include <string_view>

#include "ir/graph/graph.h"
#include "support/status.h"

namespace tcc {

struct GraphPass {
  std::string_view name;
  Status (*run)(Graph& graph);
  std::string_view why_here;
  bool visits_bodies = false;  // itself; the others are run on bodies as on graphs
};

// In order.
std::span<const GraphPass> GraphPasses();

// From what the importer gives to what FuseGraph takes: shapes everywhere, nothing that is known
// left to compute, layouts assigned. Fails with the first pass's error, and with Cancelled where a
// stop is requested between two passes.
Status RunGraphPasses(Graph& graph, const std::stop_token& stop = {});

}  // namespace tcc
