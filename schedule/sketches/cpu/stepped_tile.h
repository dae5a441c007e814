#pragma once

#include "schedule/sketches/cpu/register_tiling.h"

namespace tcc {

// A long reduction in steps of its longest axis: register tiles take turns with one step, whose
// operands stay in caches meanwhile (limits.h).
//
//   parallel (columns.0, others.0, rows.0) { results = 0
//     r.0 { columns.1 { others.1 { rows.1 {
//       r.1...  rows.2 columns.2 columns.3: tile += ...
//       results += tile } } } }
//     the consumer of the results, if there is one }
//
// A tile has sums of its own for each step (RFactorTile), which are added to results in memory. It
// could also load them before a step and store them after it, but that takes an initialisation that
// reads, and no step makes one; RFactor alone would keep the results of all steps until the end.
// Sums of steps are shorter chains of roundings, too.
//
// `tiling` is untouched, has rows and is not columnwise. With `copies` varying operands are copied
// into panels, a step's at a time.
SketchState TileInSteps(RegisterTiling tiling, bool copies);

// Whether some operand is used again by other tiles, which a step of the reduction brings nearer.
bool GainsBySteps(const RegisterTiling& tiling);

// Whether sums of so many terms in one chain would be rounded too often.
bool LosesByOneChain(const RegisterTiling& tiling);

}  // namespace tcc
