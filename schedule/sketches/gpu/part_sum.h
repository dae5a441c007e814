#pragma once

#include <vector>

#include "schedule/sketches/parts/sketch_parts.h"
#include "support/target.h"

namespace tcc {

// A spatial axis of a tile whose parts are summed. `along_y` * `along_x` threads, indices of the
// block, take `cells` neighbours each; null: one thread, without a loop.
struct SummedAxis {
  Expr along_y, along_x;
  Expr cells = Expr(1);
};

// Deals the sum over a tile's parts to threads. RFactor left it as `reduction`, and
// ReverseComputeAt placed it behind the blocks of all parts. `reader` runs on the results; `axes`
// has one per spatial variable. The parts are added in their order, all cells of a thread before
// the next part, so that many loads are in flight.
void SumParts(SketchState& state, const Block& reduction, const std::vector<SummedAxis>& axes,
              const ResultReader& reader);

// Sums them up in a launch of their own, a thread for each result: for targets whose blocks do not
// see what others wrote. RFactor left the sum as `reduction` at the root, with a loop over `parts`.
void SumPartsApart(SketchState& state, const Block& reduction, const LoopRef& parts,
                   const ResultReader& reader, const Target& target);

}  // namespace tcc
