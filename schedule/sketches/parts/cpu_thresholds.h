#pragma once

#include <cstdint>

namespace tcc {

// The numbers by which the sketch rules of CPUs, and those of all targets, decide, by the question
// that they answer: name, value, unit, and where the value comes from:
//
//   measured      on a machine, or read off machine code; cpu_perf, gpu_perf: reference pages
//   derived       from what is said
//   peer          the number of another compiler or library
//   instruction   the instruction asks for it
//   guess         no other value was measured; some have the thought behind them
//
// "In a search" is the largest value of a free size, not the one that it starts from. Shapes of
// instructions stand where they are emitted. tests/schedule/thresholds_test.cc counts the guesses.
// clang-format off
#define TCC_CPU_THRESHOLDS(X)                                                                      \
  /* Which work do threads share, and in how many pieces? */                                       \
  X(kParallelWork,        1 << 15, "scalar steps; fewer stay serial",                              \
                                   "guess: a parallel region takes 0.3 to 0.9 us (cpu_perf 9c)")   \
  X(kMinPieces,           4,       "pieces; fewer leave threads idle",                             \
                                   "measured: 4 rows of softmax are slower cut (2 threads)")       \
  X(kParallelPieces,      8,       "pieces to start from",                  "guess")               \
  X(kSharedRowPieces,     32,      "pieces with all columns",                                      \
                                   "guess: each reads all weights from L2")                        \
  X(kPieceColumns,        64,      "columns, of reductions in pieces",      "guess: some vectors") \
  X(kMinReductionPart,    1 << 14, "instances of a part",                                          \
                                   "guess: another thread would not fetch a smaller one")          \
  X(kMaxReductionParts,   64,      "parts of a reduction",                  "guess")               \
  X(kOrderedPanelColumns, 128,     "columns beside an ordered axis",                               \
                                   "guess: some cache lines, and panels for several threads")      \
  /* How large is a tile in registers? */                                                          \
  X(kResultsInFlight,     12,      "multiply-adds of vectors",                                     \
                                   "measured: 12 reach 80 % of a Zen 3 (Zen 5: 100), 8 60 (93)")   \
  X(kTileCost,            1,       "multiply-adds of vectors",                                     \
                                   "guess: fixed cost of a tile")                                  \
  X(kTailCost,            8,       "multiply-adds of vectors",                                     \
                                   "guess: extra cost of a tail tile")                             \
  X(kMinTileRows,         6,       "rows; where fewer, another axis may have more",                \
                                   "derived: 6 rows of 2 vectors are kResultsInFlight")            \
  X(kFarMoreRows,         8,       "times as many rows as one tile has of an axis",                \
                                   "measured: 8 and 197 rows: equal; 1 of 8 left: 7 times faster") \
  X(kMaxTileRows,         30,      "rows, in a search",                                            \
                                   "derived: 32 registers less a vector and a broadcast number")   \
  X(kMaxTileVectors,      8,       "vectors per row, in a search",          "guess")               \
  X(kColumnAccumulators,  4,       "vectors, over all of a tuple",                                 \
                                   "guess: more hide more of an addition's latency")               \
  X(kWindowRows,          14,      "rows of a window per filter",                                  \
                                   "derived: 1 x 14 or 2 x 7 sums, twice 9 taps: 32 registers")    \
  X(kMaxUnrolledTaps,     32,      "taps; more stay a loop",                                       \
                                   "guess: each is an instruction for every row of a tile")        \
  X(kAmxTilesInTurn,      2,       "tiles of AMX along each axis",                                 \
                                   "derived: 2 x 2 sums and 2 + 2 operands fill 8 tile registers") \
  X(kMaxMmlaInTurn,       8,       "pairs of rows or of columns of smmla",                         \
                                   "derived: 8 x 2 sums, 8 + 2 operands take 26 of 32 registers")  \
  /* When is an operand copied, or asked for ahead? */                                             \
  X(kMaxPrepackedGrowth,  4,       "bytes per byte of its constants",                              \
                                   "derived: Winograd makes 9 bytes 16 half words, 3.6 times")     \
  X(kMinStreamingTiles,   8,       "tiles of rows that read a copy",                               \
                                   "guess: fewer gain less by short strides than it costs")        \
  X(kMinPrefetchedRows,   10,      "rows of a product; no request ahead for fewer",                \
                                   "guess: fewer wait for weights, which come in their order")     \
  X(kMinPrefetchedPanels, 4,       "panels; no request ahead for fewer",                           \
                                   "guess: the next of fewer is mostly another thread's")          \
  X(kPrefetchedInTurn,    4,       "panels that a piece takes in turn",                            \
                                   "measured: 4 to 6, with others, vit_b_16 -11 % (cpu_perf 9c)")  \
  X(kMaxStreamRows,       64,      "rows that use a panel up too early",    "guess")               \
  X(kMinStreamTerms,      2048,    "terms of such a panel",                 "guess")               \
  X(kFarL2s,              8,       "times L2; larger maps are made by rows before windows",        \
                                   "measured: 2 to 14 % faster, smaller ones to 70 % slower")      \
  /* When is a reduction cut into steps, and into independent sums? */                             \
  X(kMinSteppedTerms,     1024,    "terms; fewer are summed at once",                              \
                                   "guess: fewer are few steps that fill L1; one pass is cheaper") \
  X(kLongChain,           4096,    "terms; so many go in steps first",                             \
                                   "measured: errs by 1e-5 of the deviation, steps by a tenth")    \
  X(kMinLongLoopVectors,  32,      "vectors; fewer overlap anyway",                                \
                                   "guess: instructions in flight hide 4 cycles per addition")     \
  X(kLaneAccumulators,    4,       "vectors of lanes, over a tuple",        "guess")               \
  X(kMinQuarteredLanes,   8,       "lanes that add up in quarters",         "guess")               \
  X(kMaxUnrolledVectors,  16,      "vectors; the mask at the end is known", "guess")               \
  /* Which loops are a row, and how many go together? */                                           \
  X(kMinRow,              8,       "elements",                              "guess")               \
  X(kMaxInterleavedRow,   1024,    "elements; wider go one by one",                                \
                                   "derived: 4 rows of f32, read and written, are 32 KiB of L1")   \
  X(kMaxInterleavedRows,  8,       "rows at once, in a search",             "guess")               \
  X(kAttentionTileKeys,   512,     "keys of a tile of queries",                                    \
                                   "derived: 14 rows of f32 logits take 28 KiB of L1")             \
  X(kMaxAttentionVectors, 4,       "vectors of scores or values",                                  \
                                   "peer: oneDNN's tiles are 1 to 4 vectors wide (cpu_perf 7)")    \
  X(kMaxUnrolledPanels,   8,       "panels of keys; known, so unmasked",                           \
                                   "guess: code for more costs more than it saves")                \
  /* How is memory read across? */                                                                 \
  X(kMinTransposed,       4,       "elements along an axis",                "guess")               \
  X(kMaxTransposed,       16,      "elements of a tile's side",                                    \
                                   "derived: a line of f32")                                       \
  X(kTransposedColumns,   8,       "columns of a tile",                                            \
                                   "measured: 16 take twice as long to transpose")                 \
  X(kMinCostlyCalls,      2,       "calls; lanes count more from here",                            \
                                   "measured: a quarter longer in 8 lanes than in 16")             \
  X(kMinGatheredLanes,    4,       "lanes; fewer are unrolled",                                    \
                                   "measured: 3 channels of 224x224 take 35 us, gathered 130")     \
  /* How wide is the search? */                                                                    \
  X(kMaxSketches,         16,      "sketches of a function",                "guess")
// clang-format on

#define TCC_CONSTANT(name, value, unit, source) inline constexpr int64_t name = value;
TCC_CPU_THRESHOLDS(TCC_CONSTANT)
#undef TCC_CONSTANT

}  // namespace tcc
