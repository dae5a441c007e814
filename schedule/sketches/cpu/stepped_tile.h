#pragma once

#include "schedule/sketches/cpu/register_tiling.h"

namespace tcc {

// Tiles a long reduction in steps of its longest axis: all register tiles run one step before the
// next, whose operands meanwhile stay in caches (limits.h).
//
//   parallel (columns.0, others.0, rows.0) { results = 0
//     r.0 { columns.1 { others.1 { rows.1 {
//       r.1...  rows.2 columns.2 columns.3: tile += ...
//       results += tile } } } }
//     the consumer of the results, if there is one }
//
// A tile has sums of its own for each step (RFactorTile), which are added to results in memory. It
// could also load the results before a step and store them after it, but that needs an
// initialisation that reads, which no step makes; RFactor alone would keep the results of all steps
// until the end. Sums per step also round in shorter chains.
//
// `tiling` is untouched, has rows and is not columnwise. With `copies`, non-constant operands are
// copied into panels, one step's part at a time.
SketchState TileInSteps(RegisterTiling tiling, bool copies);

// Returns whether other tiles reuse some operand: steps of the reduction bring these uses closer
// together.
bool GainsBySteps(const RegisterTiling& tiling);

// Returns whether summing all terms in one chain would round too often.
bool LosesByOneChain(const RegisterTiling& tiling);

}  // namespace tcc
