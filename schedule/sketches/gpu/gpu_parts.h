#pragma once

#include <vector>

#include "schedule/sketches/parts/sketch.h"

// What sketch rules of a GPU are made of.
namespace tcc {

// The loops, which are perfectly nested in this order, over blocks of a free number of threads: an
// iteration of all a thread. Returns the loop of threads.
LoopRef SpreadOverThreads(SketchState& state, const std::vector<LoopRef>& loops);

// The loops of a copy inside a thread block, over its `threads`, which take turns. false where that
// is not legal.
bool FetchTogether(SketchState& state, const std::vector<LoopRef>& loops, const Expr& threads);

}  // namespace tcc
