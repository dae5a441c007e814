#pragma once

#include <cstdint>
#include <string>

#include "ir/graph/graph.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// What any plan of a graph takes, before there is one.
struct MemoryNeed {
  int64_t weights = 0;
  int64_t interface = 0;  // inputs and outputs
  int64_t node = 0;       // the most that one node reads and writes besides
  std::string largest;    // the node that touches most of all: "node 'tile' (Tile)"
};

// Expects shapes to be inferred and within CheckExtents; symbolic ones count for nothing. Sums
// stay at INT64_MAX.
MemoryNeed MemoryNeedOf(const Graph& graph);

// ResourceExhausted, naming the largest node, where the model cannot run here. For a GPU only the
// weights count, which compiling holds.
Status CheckMemoryNeed(const Graph& graph, const Target& target);

}  // namespace tcc
