#pragma once

#include <cstdint>

namespace tcc {

// The numbers by which the sketch rules of GPUs decide, in the columns and words of
// parts/cpu_thresholds.h.
// clang-format off
#define TCC_GPU_THRESHOLDS(X)                                                                      \
  /* How many thread blocks, of how many threads? */                                               \
  X(kBusyBlocks,           4,         "thread blocks per multiprocessor",    "guess")              \
  X(kBlockThreads,         128,       "threads, of maps and rows",           "guess")              \
  X(kTileThreads,          256,       "threads, of tiles",                                         \
                                      "peer: CUTLASS's and cuBLAS's 128 x 128 x 8 (gpu_perf 2)")   \
  X(kTileInner,            16,        "results along rows, per thread",                            \
                                      "peer: cuBLAS's 16 x 8")                                     \
  X(kRowsOfWideTile,       8,         "rows of a thread, from which it may have 8 columns",        \
                                      "measured: 4 x 8 takes 1.2 times as long as 8 x 4")          \
  X(kStarvingShare,        4,         "multiprocessors per block, of a tile as a last resort",     \
                                      "guess")                                                     \
  X(kWorthDealing,         250'000,   "multiply-adds that fewer blocks may not have",              \
                                      "derived: 2 us of a multiprocessor at half its rate")        \
  X(kAsyncCopies,          80,        "first architecture with cp.async",                          \
                                      "instruction: PTX ISA, cp.async")                            \
  /* How is the reduction of a tile cut? */                                                        \
  X(kReductionStep,        8,         "terms between two barriers, at least",                      \
                                      "peer: CUTLASS's and cuBLAS's 128 x 128 x 8 (gpu_perf 2)")   \
  X(kLongestStep,          32,        "terms between two barriers, at most",                       \
                                      "measured: more gain nothing, in products")                  \
  X(kTileUnrolled,         8,         "terms of a step, unrolled",                                 \
                                      "derived: 16 x 8 in two versions fill the cache of code")    \
  X(kHeldTerms,            4,         "terms of a step, unrolled, where nothing is staged",        \
                                      "derived: a load of 16 bytes along the reduction")           \
  X(kHeldRegisters,        64,        "registers of a thread, where nothing is staged",            \
                                      "instruction: Midgard has 16 of four words")                 \
  X(kHeldThreads,          64,        "threads of a block, where nothing is staged",               \
                                      "instruction: Midgard runs 64 that take 64 registers")       \
  X(kTileStages,           3,         "steps, computed or in flight",                              \
                                      "measured: 2 to 4 differ by 4 % on an H200")                 \
  X(kMaxTurns,             64,        "times the unrolled terms, in a step", "guess")              \
  X(kMinPartTerms,         64,        "terms of a part",                                           \
                                      "derived: eight steps of kReductionStep")                    \
  X(kMaxSplitParts,        64,        "parts",                               "guess")              \
  X(kMaxPartsPercent,      125,       "of the time without parts, for a search to try them",       \
                                      "guess: the formula errs by more, between unlike tiles")     \
  /* How long does a tile take (tile_time.h)? */                                                   \
  X(kTileLoadSlots,        2,         "issue slots of a load from shared memory",                  \
                                      "measured: fit to points of an H200")                        \
  X(kTileCopySlots,        20,        "issue slots of a copy to shared memory",                    \
                                      "measured: fit to points of an H200")                        \
  X(kTileStepSlots,        20,        "issue slots of a step: barrier, wait, loop",                \
                                      "measured: fit to points of an H200")                        \
  X(kVectorLoadCycles,     2,         "cycles of shared memory that a load of 16 bytes takes",     \
                                      "measured: fit to points of an H200")                        \
  X(kTileFmaCycles,        2,         "cycles of a multiply-add, in a warp alone",                 \
                                      "measured: fit to points of an H200")                        \
  X(kTileOtherCycles,      6,         "cycles of any other slot, in a warp alone",                 \
                                      "measured: fit to points of an H200")                        \
  X(kTileStartCycles,      3000,      "cycles of a block before and after its steps",              \
                                      "measured: fit to points of an H200")                        \
  X(kColumnTailPercent,    110,       "of the time without a tail of columns",                     \
                                      "measured: 1.0 to 1.2 on an H200; rows' tails cost nothing") \
  X(kTileRegisters,        24,        "registers of a thread beside results and operands",         \
                                      "measured: 59 of 4 x 4, 126 of 8 x 8")                       \
  X(kPartsPercentOfL2,     57,        "of L2's rate, at which parts are written and read",         \
                                      "measured: fit to points of an H200")                        \
  /* The same on tensor cores? */                                                                  \
  X(kMinMmaExtent,         8,         "rows, and columns",                                         \
                                      "instruction: mma m16n8; fewer columns are padding")         \
  X(kMinGroupRows,         48,        "rows of a product of four warps",                           \
                                      "instruction: wgmma m64; fewer rows are padding")            \
  X(kMmaStepBytes,         128,       "bytes of a staged row",                                     \
                                      "peer: cuBLAS's 64 cells of f16, 32 of tf32 (gpu_perf 3)")   \
  X(kMaxMmaSteps,          8,         "instructions along k, in a search",                         \
                                      "derived: 8 of 32 bytes are two swizzled rows")              \
  X(kMinMmaPartSteps,      4,         "steps of a part",                                           \
                                      "guess: adding up shorter parts costs what they save")       \
  X(kMaxMmaParts,          32,        "parts",                               "guess")              \
  /* Which products have few rows, and how do they stream their weights? */                        \
  X(kMaxFewRows,           8,         "rows",                                                      \
                                      "derived: with 4 columns 32 sums, beside 32 weights")        \
  X(kMinFewRowsColumns,    4,         "columns",                                                   \
                                      "derived: fewer are less than a load of 16 bytes")           \
  X(kMinFewRowsTerms,      64,        "terms of a reduction",                                      \
                                      "derived: 2 for each part of kFewRowsThreads on a line")     \
  X(kFewRowsLine,          32,        "columns of a thread block",                                 \
                                      "derived: a line of 128 bytes of f32")                       \
  X(kMinFewRowsLine,       8,         "columns of a thread block",                                 \
                                      "derived: a sector of 32 bytes of f32")                      \
  X(kMinFewRowsBytes,      16 * 1024, "bytes that a thread block streams",                         \
                                      "derived: half of what it has in flight, below")             \
  X(kFewRowsThreads,       256,       "threads",                                                   \
                                      "derived: with kFewRowsLoads 32 KiB in flight; an H100's "   \
                                      "4 TB/s at 0.7 us take 21 of each multiprocessor")           \
  X(kFewRowsLoads,         8,         "loads of a thread in flight",                               \
                                      "derived: as kFewRowsThreads")                               \
  X(kFewRowsUnrolledParts, 16,        "partial sums, unrolled",                                    \
                                      "derived: shared memory answers in some 30 cycles")          \
  /* How are rows reduced? */                                                                      \
  X(kRowVectors,           8,         "vectors of a thread in turn",         "guess")              \
  X(kMaxLoadsInFlight,     8,         "vectors at once, in a search",        "guess")              \
  X(kMaxBlockRows,         32,        "rows of a thread block",              "guess")              \
  X(kMaxSharedRowBytes,    24 * 1024, "bytes; more are recomputed",                                \
                                      "derived: 4 blocks, 1 KiB more each, fill sm_86's 100")      \
  X(kMinLongRow,           1 << 15,   "elements of a row in parts",          "guess")              \
  X(kMinLongRowParts,      4,         "parts of a long row",                 "guess")              \
  X(kLongRowThreads,       256,       "threads of a part",                                         \
                                      "guess: twice kBlockThreads, which add up")                  \
  X(kLongRowLoads,         4,         "loads of a thread in flight",                               \
                                      "guess: at least 4 (gpu_perf 6)")                            \
  /* How large are the tiles of attention? */                                                      \
  X(kMaxAttentionThreads,  256,       "threads",                             "guess")              \
  X(kMaxAttentionRows,     8,         "queries of a thread",                 "guess")              \
  X(kMaxAttentionKeys,     8,         "keys of a thread",                    "guess")              \
  X(kMaxAttentionColumns,  16,        "columns that a thread sums",                                \
                                      "derived: two tiles of 16 x 4 are 128 registers")            \
  X(kMaxAttentionCells,    144,       "scores, twice the sums, of a thread",                       \
                                      "derived: 4 queries of 4 keys and 16 columns"      )  \
  X(kAttentionSteps,       4,         "terms of a product, unrolled",                              \
                                      "instruction: a load of 16 bytes")                           \
  X(kMaxAttentionWarps,    8,         "warps of 16 queries, on tensor cores",                      \
                                      "peer: twice the 4 of FlashAttention-2")                     \
  X(kMaxAttentionKeyTiles, 8,         "times 16 keys, on tensor cores",                            \
                                      "derived: 128 scores of a row are 64 registers")             \
  X(kMaxHeldDepth,         64,        "depth of queries that stay in registers",                   \
                                      "derived: 16 registers; the sums take 32")                   \
  /* Which windows have a thread for each result? */                                               \
  X(kMaxUnrolledWindow,    32,        "taps; more stay a loop",                                    \
                                      "guess: loads of a window in flight together, from L1")      \
  /* How is memory read across? */                                                                 \
  X(kMaxTransposedLine,    64,        "elements of an operand's line",       "guess")              \
  X(kTransposedThreadRows, 8,         "rows of threads",                     "guess")              \
  X(kMaxTransposedRows,    16,        "rows of a thread, in a search",       "guess")              \
  X(kMinTransposedByWarp,  8,         "elements; fewer idle most of a warp", "guess")
// clang-format on

#define TCC_CONSTANT(name, value, unit, source) inline constexpr int64_t name = value;
TCC_GPU_THRESHOLDS(TCC_CONSTANT)
#undef TCC_CONSTANT

}  // namespace tcc
