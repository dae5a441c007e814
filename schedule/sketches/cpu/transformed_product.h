#pragma once

#include <optional>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// Schedules a product between transforms of small tiles, as Winograd's convolution is one: `first`
// transforms the rows of the input's tiles, the next map their columns, then follow the product,
// the map that transforms the rows of its tiles, and the one that writes their columns to the
// output. A piece is some rows of tiles, which stay in caches from the first stage to the last; in
// the transforms a tile is unrolled and vectors run along the channels.
//
//   parallel (others, h.0) {
//     p c.0 { rows of a tile: t;  columns of a tile: v }
//     a b ... o.0 { p.0 { c  p.1 o.1 o.2: tile += v * u;  m = tile } }
//     h.1 w.0 c.0 { rows of a tile: s;  h.2 w.1 c.1: output } }
//
// Returns nullopt unless `first` begins such stages.
std::optional<SketchState> ScheduleTransformedProduct(const SketchState& state, const Block& first,
                                                      const Target& target);

}  // namespace tcc
