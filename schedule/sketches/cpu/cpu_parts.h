#pragma once

#include <cstdint>
#include <vector>

#include "schedule/sketches/parts/sketch.h"

// The building blocks of the sketch rules for a CPU.
namespace tcc {

// The number of pieces of a loop that keeps threads busy.
inline constexpr int64_t kParallelPieces = 8;

// With fewer rows than this a product waits for its weights, which the hardware fetches in their
// order; a request far ahead is in the way.
inline constexpr int64_t kMinPrefetchedRows = 10;

// Prefetch the next panel only from this many panels on: with fewer, it mostly belongs to another
// thread.
inline constexpr int64_t kMinPrefetchedPanels = 4;

// Fuses `loops` of the block and runs them in parallel if the block has enough work.
void RunInParallel(SketchState& state, const Block& block, const std::vector<LoopRef>& loops);

// Returns the state, with the block's result computed when the model is linked if that is possible.
SketchState Prepacked(const SketchState& state, const Block& block);

// Schedules a product whose block ComputeAt has placed where one tile is wanted: the last axis in
// vectors of `lanes`, the rest of the last two axes unrolled, both inside the reduction. Returns
// false if that is not legal.
bool FillProductTile(SketchState& state, const Block& product, const Expr& lanes);

}  // namespace tcc
