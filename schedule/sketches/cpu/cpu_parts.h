#pragma once

#include <cstdint>
#include <vector>

#include "schedule/sketches/parts/sketch.h"

// What sketch rules of a CPU are made of.
namespace tcc {

// Below this many scalar steps a fork and join costs more than it saves.
inline constexpr int64_t kParallelWork = 1 << 15;

// Pieces of a loop that make threads busy.
inline constexpr int64_t kParallelPieces = 8;

// `loops` of the block as one in parallel, where it has work enough.
void RunInParallel(SketchState& state, const Block& block, const std::vector<LoopRef>& loops);

// The state, with what the block computes made a constant where it can be.
SketchState Prepacked(const SketchState& state, const Block& block);

}  // namespace tcc
