#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace tcc {

// The feature tables: enumerator, name, unit, definition of each row, in the order in which a model
// reads them. The last row is the prior's seconds. A new feature takes a row here and a formula in
// nest_features.cc or launch_features.cc.

// The rows of a nest on a CPU.
// `main` is the leaf block with the most instances, reductions before others.
#define TCC_NEST_FEATURES(X)                                                               \
  X(kUseful, "useful", "instances", "leaf instances that exist")                           \
  X(kIssued, "issued", "iterations", "of all loops round leaf blocks")                     \
  X(kDead, "dead", "iterations", "of loops that stay loops, beyond an extent")             \
  X(kWaste, "waste", "ratio", "issued by useful, of main")                                 \
  X(kFma, "fma", "vector operations", "multiply-adds")                                     \
  X(kAdd, "add", "vector operations", "sums and differences")                              \
  X(kMul, "mul", "vector operations", "products")                                          \
  X(kDivide, "divide", "vector operations", "quotients")                                   \
  X(kRoot, "root", "vector operations", "square roots")                                    \
  X(kSpecial, "special", "vector operations", "in those of exp")                           \
  X(kCompare, "compare", "vector operations", "comparisons, choices, minima, maxima")      \
  X(kConvert, "convert", "vector operations", "changes of type")                           \
  X(kTests, "tests", "vector operations", "terms of predicates")                           \
  X(kVectorLoads, "vector_loads", "instructions", "of neighbouring cells")                 \
  X(kBroadcastLoads, "broadcast_loads", "instructions", "of one cell for all lanes")       \
  X(kLoneElements, "lone_elements", "elements", "moved one by one: cells apart")           \
  X(kVectorStores, "vector_stores", "instructions", "of results to memory")                \
  X(kScalarOperations, "scalar_operations", "operations", "of blocks without lanes")       \
  X(kPrefetches, "prefetches", "lines", "asked for ahead of their use")                    \
  X(kStatements, "statements", "stores", "in the code")                                    \
  X(kBodies, "bodies", "runs", "of straight-line code")                                    \
  X(kEntries, "entries", "starts", "of innermost loops")                                   \
  X(kTrip, "trip", "iterations", "of main's innermost loop")                               \
  X(kAccumulators, "accumulators", "registers", "results of main that stay in them")       \
  X(kRegisterShare, "register_share", "ratio", "registers by those of the target")         \
  X(kVectorFill, "vector_fill", "ratio", "bytes of main's lanes by those of a vector")     \
  X(kLaneUse, "lane_use", "ratio", "lanes of main that exist")                             \
  X(kRowUse, "row_use", "ratio", "unrolled copies of main that exist")                     \
  X(kChain, "chain", "copies", "of main that sum up into one cell")                        \
  X(kLoadsPerFma, "loads_per_fma", "ratio", "loads by vector operations of main")          \
  X(kInnermostBytes, "innermost_bytes", "bytes",                                           \
    "that an iteration of main's innermost loop "                                          \
    "touches")                                                                             \
  X(kTileBytes, "tile_bytes", "bytes", "that main's reduction touches for one tile")       \
  X(kPieceBytes, "piece_bytes", "bytes", "that an iteration of the parallel loop touches") \
  X(kNestBytes, "nest_bytes", "bytes", "that the nest touches")                            \
  X(kL1Read, "l1_read", "lines", "read into L1")                                           \
  X(kL2Read, "l2_read", "lines", "read into L2")                                           \
  X(kL3Read, "l3_read", "lines", "read into L3")                                           \
  X(kL1Written, "l1_written", "lines", "written through L1")                               \
  X(kL2Written, "l2_written", "lines", "written through L2")                               \
  X(kL3Written, "l3_written", "lines", "written through L3")                               \
  X(kTouched, "touched", "lines", "different ones, access by access")                      \
  X(kPieces, "pieces", "iterations", "of main's parallel loop")                            \
  X(kImbalance, "imbalance", "ratio", "time of the busiest thread by an equal share")      \
  X(kThreads, "threads", "threads", "that the kernel may use")                             \
  X(kForks, "forks", "starts", "of parallel loops")                                        \
  X(kIssueSeconds, "issue_seconds", "seconds", "the prior's, of instructions")             \
  X(kL2Seconds, "l2_seconds", "seconds", "the prior's, of what L2 gives")                  \
  X(kL3Seconds, "l3_seconds", "seconds", "the prior's, of what L3 gives")                  \
  X(kMemorySeconds, "memory_seconds", "seconds", "the prior's, of what memory gives")      \
  X(kOverheadSeconds, "overhead_seconds", "seconds", "the prior's, of starting threads")   \
  X(kSeconds, "seconds", "seconds", "the prior's, of all together")

// The rows of a launch on a GPU. An instruction is one of a warp; spills are left out.
#define TCC_LAUNCH_FEATURES(X)                                                                  \
  X(kBlocks, "blocks", "blocks", "of the grid")                                                 \
  X(kThreads, "threads", "threads", "of a block")                                               \
  X(kResident, "resident", "blocks", "that a multiprocessor runs at a time")                    \
  X(kRounds, "rounds", "blocks", "of the busiest multiprocessor")                               \
  X(kWaves, "waves", "waves", "of the blocks that are resident at a time")                      \
  X(kTailShare, "tail_share", "ratio", "rounds in which multiprocessors idle by all rounds")    \
  X(kInstructions, "instructions", "instructions", "of a block")                                \
  X(kFma, "fma", "instructions", "multiply-adds of a block")                                    \
  X(kMma, "mma", "multiply-adds", "of a block on tensor cores")                                 \
  X(kSpecial, "special", "instructions", "exponentials, reciprocals, roots of a block")         \
  X(kPasses, "passes", "passes", "of a block through shared memory and L1")                     \
  X(kSectors, "sectors", "sectors", "of a block that come from L2 or go there")                 \
  X(kMemoryBytes, "memory_bytes", "bytes", "different ones that the launch touches")            \
  X(kConstantBytes, "constant_bytes", "bytes", "of them weights")                               \
  X(kSteps, "steps", "steps", "in which a block fills shared memory")                           \
  X(kAhead, "ahead", "steps", "that copies are under way ahead")                                \
  X(kRegisters, "registers", "registers", "of a thread")                                        \
  X(kRegisterShare, "register_share", "ratio", "registers of a block by a multiprocessor's")    \
  X(kSharedBytes, "shared_bytes", "bytes", "of shared memory of a block")                       \
  X(kSharedShare, "shared_share", "ratio", "shared memory of a block by a multiprocessor's")    \
  X(kCode, "code", "instructions", "of the machine code")                                       \
  X(kFmaShare, "fma_share", "ratio", "multiply-adds by all instructions")                       \
  X(kIssueSeconds, "issue_seconds", "seconds", "the prior's, of instructions")                  \
  X(kPassSeconds, "pass_seconds", "seconds", "the prior's, of shared memory and L1")            \
  X(kL2Seconds, "l2_seconds", "seconds", "the prior's, of what L2 gives and takes")             \
  X(kMemorySeconds, "memory_seconds", "seconds", "the prior's, of what memory gives and takes") \
  X(kLatencySeconds, "latency_seconds", "seconds", "the prior's, of warps that wait")           \
  X(kSeconds, "seconds", "seconds", "the prior's, of all together")

// The version of the formulas, which rises when one gives other values: models record it.
inline constexpr int kFeatureVersion = 2;

enum class Feature : size_t {
#define TCC_FEATURE(feature, name, unit, definition) feature,
  TCC_NEST_FEATURES(TCC_FEATURE)
};
enum class LaunchFeature : size_t {
  TCC_LAUNCH_FEATURES(TCC_FEATURE)
#undef TCC_FEATURE
};

struct FeatureRow {
  std::string_view name;
  std::string_view unit;
  std::string_view definition;
};
#define TCC_FEATURE(feature, name, unit, definition) FeatureRow{name, unit, definition},
inline constexpr FeatureRow kNestRows[] = {TCC_NEST_FEATURES(TCC_FEATURE)};
inline constexpr FeatureRow kLaunchRows[] = {TCC_LAUNCH_FEATURES(TCC_FEATURE)};
#undef TCC_FEATURE
// The rows of each table.
inline constexpr size_t kNestFeatures = std::size(kNestRows);
inline constexpr size_t kLaunchFeatures = std::size(kLaunchRows);

// The table that describes a kernel: its nests on a CPU, its launches on a GPU.
enum class FeatureKind : uint8_t { kNest, kLaunch };

// Returns a row for each feature, in order.
constexpr std::span<const FeatureRow> FeatureRows(FeatureKind kind) {
  if (kind == FeatureKind::kLaunch) return kLaunchRows;
  return kNestRows;
}

}  // namespace tcc
