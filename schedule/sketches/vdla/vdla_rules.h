#pragma once

#include <span>
#include <vector>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// Schedules a product in blocks (vdla_product.h) for the accelerator. A tile of the sums, and what
// one step of the reduction reads, are in memories of the chip; scope local means that. Each copy
// and each nest of calls becomes an instruction or a few.
//
//   images rows.0 columns.0 outputs.0 contexts {
//     sums = 0
//     inputs.0 { load data  load weight
//       rows.1 columns.1 taps.. inputs.1 outputs.1 { vdla_gemv_16x16 } }
//     store sums }
//
// Takes the product's block or the one that makes its data. Returns a fork for one context and for
// each axis along which there may be two (vdla_tile.h), the fastest first; none if the block is
// neither, or if no tile fits the chip.
std::vector<SketchState> TileForVdla(const SketchState& state, const Block& block,
                                     const Target& target);

// Returns whether the function has such a product, with a tile that fits the chip.
bool HasVdlaTile(const Function& fn);

}  // namespace tcc
