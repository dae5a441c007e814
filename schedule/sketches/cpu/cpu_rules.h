#pragma once

#include <optional>
#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

// The schedules that the sketch rules for a CPU make, in the order in which cpu_sketches.cc tries
// them. ScheduleRows (row_reduction.h) comes before TileForRegisters, ScheduleColumns
// (column_reduction.h) after it.
namespace tcc {

// Flash attention on a CPU: the core of attention as one loop over tiles of queries, with the keys
// in tiles too (by RFactorTile):
//
//   parallel (b*h*i.0) {
//     t.0 {
//       for panels of keys { scores: a register tile  logits }
//       maximum of the tile's logits  powers  their sums  sums of values: a register tile
//       combined with m, l, acc }
//     out }

// Schedules the core together with the map and the contraction that compute its logits and the
// block that reads its results, and marks all of them as done. Returns nullopt if the function has
// another form or a step is not legal.
std::optional<SketchState> ScheduleAttention(const SketchState& state, const Block& core,
                                             const Target& target);

// Parallel parts of long reductions on a CPU. A few long reductions, say one sum of all elements,
// leave most threads idle if each runs on one thread. Parts of them run in parallel instead, and
// then their results are combined.
//
//   for i { for t }   -->   for t.0 parallel { for i { y.part: for t.1 } }
//                           for i { y: for t.0 }
//
// The number of parts and the order in which they are combined depend on extents alone: the result
// is the same for any number of threads.

// Schedules `block` that way and marks it as done. Returns nullopt if it has many results or a
// short reduction, if it has neither rows (row_reduction.h) nor columns (column_reduction.h), or a
// step is not legal.
std::optional<SketchState> ScheduleReductionParts(const SketchState& state, const Block& block,
                                                  const Target& target);

// Schedules a reduction by register tiles: `rows` of one axis times `registers` vectors of another
// stay in registers throughout the reduction.
//
//   parallel (columns.0, others, rows.0) { columns.1 { rows.1 {
//     r...  rows.2 columns.2 columns.3: tile += ...
//     the consumer, or the write-back, of the tile } } }
//
// Returns a fork per order of the tiles, and some that copy non-constant operands into panels of
// columns (PanelGain); these come first if lanes would gather the operands. Long reductions whose
// operands several tiles read get one more fork, in steps: last, or first if one chain of sums
// would be rounded too often. `block` WritesPlainly and has axes of both kinds, all of known
// extents.
std::vector<SketchState> TileForRegisters(const SketchState& state, const Block& block,
                                          const Target& target);

// Schedules sums of dots of words by the target's tiles (support/word_tile.h), each one call of an
// instruction. The sums of several tiles stay in registers; AMX has registers for four.
//
//   parallel (columns.0, others, rows.0) { columns.1 { rows.1 {
//     r... word.0 { rows.2 columns.2 { tile_dot: rows.3 columns.3 word.1 } }
//     the consumer, or the write-back, of the tiles } } }
//
// Returns a fork for each order of columns.1 and rows.1, the best to start from first; none unless
// the target has such tiles and all three extents are multiples of their edge. `block`
// WritesPlainly.
std::vector<SketchState> TileForMatrices(const SketchState& state, const Block& block,
                                         const Target& target);

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

// Schedules the register tiles (register_tiling.h) of a window together with the map that computes
// its operand: a thread has some rows of windows, keeps as many operand rows as one window reads,
// and computes only the new ones.
//
//   parallel (others, y.0) { fill all rows but the new ones
//     y.1 { the new rows of the operand
//       columns.0 rows.0 columns.1 { rows.1 { r... tile } } } }
//
// Returns nullopt unless a window of `block` slides along an axis outside its tiles, over cells
// that `producer` computes for it alone.
std::optional<SketchState> TileOverRollingRows(const SketchState& state, const Block& producer,
                                               const Block& block, const Target& target);

// Schedules the register tiles of a window together with the product that makes the image it slides
// over, a pointwise convolution in front of a depthwise one: a piece computes its rows of the
// image, with those that it shares with its neighbours, and has them in its L2 when it slides over
// them.
//
//   parallel (others, y.0) {
//     rows of the image: columns.0 rows.0 { r... tile;  its epilogue }
//     y.1 columns.0 rows.0 columns.1 { rows.1 { r... tile } } }
//
// Returns nullopt unless `block` alone reads what `product`, or its epilogue, makes, and slides
// over it along an axis outside its tiles.
std::optional<SketchState> TileChain(const SketchState& state, const Block& product,
                                     const Block& block, const Target& target);

// Schedules, for a CPU, an elementwise block that reads an operand transposed: contiguous along
// another axis instead of the last one. Each line of the operand would be fetched once per element
// taken from it. A tile of the operand is loaded in vectors along its own memory, transposed in
// registers, and read in vectors along the block's last axis.
//
//   for i { for j { Y[i, j] = f(X[j, i]) } }
//     -->  parallel (i.0, j.0) { X_s: j.1 { i.1 vectorized }      copies
//                                X_t: i.1 j.1 unrolled: X_t[i, j] = X_s[j, i]
//                                i.1 unrolled { j.1 vectorized: Y[i, j] = f(X_t[i, j]) } }
//
// Returns nullopt if the block reads no operand so, or a step is not legal. Its extents are known.
std::optional<SketchState> TileTransposing(const SketchState& state, const Block& block,
                                           const Target& target);

// Schedules, for a CPU, a block that keeps a result in memory during its reduction: cumulative sums
// along an axis, scatter updates in order. A panel of columns runs through the reduction in vectors
// if memory is contiguous along the last axis; panels run in parallel.
//
//   for r { for j }    -->    for j.0 parallel { for r { for j.1 { for j.2 vectorized } } }
//
// The axes outside the reduction run in parallel with the panels. Steps that are not legal are
// skipped. All extents are known.
SketchState ScheduleColumnPanels(const SketchState& state, const Block& block,
                                 const Target& target);

}  // namespace tcc
