#pragma once

#include <vector>

#include "schedule/sketches/parts/sketch_parts.h"
#include "support/target.h"

// The building blocks of the sketch rules for a GPU.
namespace tcc {

// Returns the number of thread blocks that keep a GPU busy.
int64_t BusyBlocks(const Target& target);

// Distributes the loops, which are perfectly nested in this order, over blocks of a free number of
// threads, with one iteration per thread. Returns the loop of threads.
LoopRef SpreadOverThreads(SketchState& state, const std::vector<LoopRef>& loops,
                          const Target& target);

// Distributes the loops of a copy inside a thread block cyclically over its `threads`. Returns
// false if that is not legal.
bool FetchTogether(SketchState& state, const std::vector<LoopRef>& loops, const Expr& threads);

}  // namespace tcc
