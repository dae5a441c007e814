#pragma once

#include <vector>

#include "schedule/sketches/parts/sketch.h"

// The building blocks of the sketch rules for a CPU.
namespace tcc {

// Fuses `loops` of the block and runs them in parallel if the block has enough work.
void RunInParallel(SketchState& state, const Block& block, const std::vector<LoopRef>& loops);

// Returns the state, with the block's result computed when the model is linked if that is possible.
SketchState Prepacked(const SketchState& state, const Block& block);

// Schedules a product whose block ComputeAt has placed where one tile is wanted: the last axis in
// vectors of `lanes`, the rest of the last two axes unrolled, both inside the reduction. Returns
// false if that is not legal.
bool FillProductTile(SketchState& state, const Block& product, const Expr& lanes);

}  // namespace tcc
