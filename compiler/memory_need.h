#pragma once

#include <cstdint>
#include <string>

#include "ir/graph/graph.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// The memory that any plan of a graph needs, known before there is a plan.
struct MemoryNeed {
  int64_t weights = 0;
  int64_t interface = 0;  // inputs and outputs
  int64_t node = 0;       // the most that one node reads and writes beyond these
  std::string largest;    // the node that touches the most bytes: "node 'tile' (Tile)"
};

// Computes the need at the usual sizes. Expects shapes to be inferred and within CheckExtents.
// Sums saturate at INT64_MAX.
MemoryNeed MemoryNeedOf(const Graph& graph);

// Fails with ResourceExhausted where this machine cannot hold the weights, as compilation must.
Status CheckWeightMemory(const Graph& graph);

// Fails with ResourceExhausted, naming the largest node, where the model cannot run here. For a GPU
// only the weights count.
Status CheckMemoryNeed(const Graph& graph, const Target& target);

}  // namespace tcc
