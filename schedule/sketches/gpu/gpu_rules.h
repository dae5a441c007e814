#pragma once

#include <optional>
#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "support/target.h"

// The schedules that the sketch rules for a GPU make, in the order in which gpu_sketches.cc tries
// them.
namespace tcc {

// Flash attention on a GPU: the core of attention as one launch, with a tile of queries per thread
// block (by RFactorTile). Scores and sums of values are two products, dealt to the threads in tiles
// of registers. Threads along x are a part of a warp and share their queries' rows.
//
//   blockIdx.x (b*h*i.0*d.0) {
//     stage queries                               shared
//     threadIdx.y (i.1) threadIdx.x (d.1) {
//       t.0 pipelined {                           tiles of keys
//         stage keys, values                      shared
//         scores: threadIdx.y threadIdx.x         rows x keys registers of each thread, then shared
//         maximum, powers, sum: threadIdx.x       a row by its lanes; powers shared
//         sums of values                          rows x columns registers of each thread
//         combined with m, l, acc }
//       out } }

// Schedules the attention that `block` is a part of: its core, the blocks that compute its logits,
// a map that computes keys for them alone, and the block that reads its results; all are marked as
// done. Returns nullopt if there is none or a step is not legal.
std::optional<SketchState> ScheduleTiledAttention(const SketchState& state, const Block& block,
                                                  const Target& target);

// The same on tensor cores, for operands of 16 bits in whole tiles (AttentionInTilesVariant). A
// warp has 16 queries; threads along x and y are its lanes, numbered like the lanes that hold a sum
// of 16 x 8: a row's cells are in the threads along x, which reduce it by shuffles.
//
//   blockIdx.x (b*h*i.0) {
//     stage queries                               shared
//     threadIdx.z (i.1) {
//       t.0 pipelined {                           tiles of keys
//         stage keys, values                      shared
//         scores: mma                             fragments
//         logits, maximum, powers, sum            registers of the lanes that hold the scores
//         powers in 16 bits                       the same lanes' fragments of the other operand
//         sums of values: mma                     fragments
//         combined with m, l, acc }               registers of the same lanes
//       out } }

// Schedules the attention that `block` is a part of and marks its blocks as done, the maps that
// compute its operands included. Returns nullopt if there is none of such operands, or a step is
// not legal.
std::optional<SketchState> ScheduleMmaAttention(const SketchState& state, const Block& block,
                                                const Target& target);

// A product of few rows, of a recurrence, a classifier or a decoder: its time is that of reading
// the weights once. Threads along x have neighbouring columns in vectors, threads along y have
// neighbouring terms of the reduction. Their partial sums meet in shared memory, where a thread for
// each result adds them up in order: one launch.
//
//   blockIdx.x(rest, i.0, j.0) {
//     threadIdx.y(k.2) threadIdx.x(j.1) {
//       k.0 { k.1 unrolled { i.1 unrolled { j.2 vector: sum[i, j] += x[i, k] * weights[k, j] } } }
//       part[k.2, i, j] = sum[i, j] }                                                       shared
//     threadIdx(i.1, j.1, j.2) { result = part[0] + part[1] + ..; the consumer, or write-back } }

// Schedules `block`, a product of at most kMaxFewRows rows whose weights are contiguous along the
// columns, or a map that makes an operand for one such product, which computes it then; what is
// scheduled is marked as done. Returns nullopt for other blocks, or if a step is not legal.
std::optional<SketchState> ScheduleFewRows(const SketchState& state, const Block& block,
                                           const Target& target);

// Tiles a contraction for tensor cores. Axes m and n are those of the result that only one operand
// has; k is the reduce axis of both. Tiles have three levels: thread blocks, warps, and the mma
// instructions of one warp, on fragments in registers.
//
//   blockIdx(rest, m.0, n.0) threadIdx.y(m.1, n.1) {
//     r, k.0 pipelined { stage operands in shared memory
//       k.1 { load fragments  m.2 n.2 { mma 16 x 8 } } }
//     the consumer, or the write-back, of the results, by the lanes that hold them: threadIdx.x }
//
// A second way is in parts (as TileForThreads may): the steps of the reduction are dealt to the
// parts round-robin. On sm_90a there are two more, which come first: four warps together multiply
// matrices in shared memory, without fragments of the operands.
//
//   blockIdx(rest, m.0, n.0) threadIdx.y(n.1, m.1) {
//     r, k.0 pipelined { stage operands  k.1 { n.2 { group_mma 16 x 8 of each warp } } }  .. }
//
// Axes are padded to whole tiles. Returns the ways, best first (mma_start.h); none if the target
// has no instruction for the operands' types, or if an operand is read at less than a matrix of
// cells, or at too small a matrix.
//
// `block` WritesPlainly and has axes of both kinds, all of known extents.
std::vector<SketchState> TileForTensorCores(const SketchState& state, const Block& block,
                                            const Target& target);

// Tiles a contraction or window for threads, its spatial axes s on five levels and its reduce axes
// r on three (SSSRRSRS): blocks, virtual threads, threads, then the work of one thread. Operands
// are staged in shared memory some steps of the reduction ahead, results are in registers.
//
//   blockIdx(s.0...) vthread(s.1...) threadIdx(s.2...) {
//     r.0... pipelined { stage operands  r.1... s.3... r.2... s.4... }
//     the consumer, or the write-back, of the results }
//
// A second way is in parts, so that few results keep many thread blocks busy (split-K): a free
// number of parts of the longest reduce axis are tiled as one more axis of blocks, and the last
// block of a tile adds them up (part_sum.h); for OpenCL a second launch does.
//
//   blockIdx.x(s.0...) {
//     blockIdx.y(p) ... { ... part[p, ..] = registers }
//     threadIdx(s...) { p: result += part[p, ..]  the consumer, or the write-back, of the results }
//     }
//
// Returns the way that ChooseThreadTile expects to be faster first; the second one is left out if
// the reduction has no parts, or if they are expected to take kMaxPartsPercent of the time.
//
// `block` WritesPlainly and has axes of both kinds, all of known extents.
std::vector<SketchState> TileForThreads(const SketchState& state, const Block& block,
                                        const Target& target);

// Row reductions (row_reduction.h) on a GPU: softmax, normalizations, reductions of trailing axes,
// with the maps before, between and after them, as one launch. A thread block has a few rows, and
// threads along x share each row:
//
//   max: for i { for t }          for i.0 blockIdx.x {
//   exp: for i { for j }    -->     max: for i.1 @y { t.0 { t.1 unrolled { t.2 @x { t.3 vector } }
//   sum: for i { for t }            exp: for i.1 @y { j.0 { j.1 unrolled { j.2 @x { j.3 vector } }
//   out: for i { for j }            sum: ..  out: .. }
//
// Results of the reductions are registers of all threads of the row (ir/analysis/cross_thread.h).
// The elements of maps in between stay in shared memory, where each thread reads those that it
// wrote itself; or they are recomputed at each read, which takes no memory.

// Schedules `block`, a row reduction or a map before one, together with the blocks after it that
// can work row by row; all of them are marked as done. Returns the ways to do that, none if a step
// is not legal.
std::vector<SketchState> ScheduleThreadRows(const SketchState& state, const Block& block,
                                            const Target& target);

// A few long rows, say one sum of all elements, would leave most of a GPU idle with a thread block
// per row. Each part of a row gets a thread block instead, and a second launch adds up the parts.
//
//   for i { for t }   -->   for i blockIdx.y { for t.0 blockIdx.x { y.part: t.1.. threadIdx.x } }
//                           for i blockIdx.x { y: for t.0.. threadIdx.x }

// Schedules `block`, a row reduction (row_reduction.h), that way and marks it as done. Returns
// nullopt if it has many rows or short ones, or a step is not legal.
std::optional<SketchState> ScheduleLongRows(const SketchState& state, const Block& block,
                                            const Target& target);

// Schedules, for a GPU, an elementwise block that reads an operand transposed
// (transposed_operand.h): contiguous along another axis instead of the last one. A warp would fetch
// a line of the operand per thread. A thread block copies a tile along the operand's own memory to
// shared memory, and reads it transposed. Rows of the tile are an odd number of words long, so that
// the threads of a warp read from different banks.
//
//   for i { for j { Y[i, j] = f(X[j, i]) } }
//     -->  (i.0, j.0) blockIdx.x { X_s: (j.1, i.1) threadIdx.x: X_s[j, i] = X[j, i]
//                                  (i.2, j.1) threadIdx.x { i.1 unrolled: Y[i, j] = f(X_s[j, i]) }
//                                  }
//
// Returns nullopt if the block reads no operand so, or a step is not legal. Its extents are known.
std::optional<SketchState> TileTransposingForThreads(const SketchState& state, const Block& block);

}  // namespace tcc
