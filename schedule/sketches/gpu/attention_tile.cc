#include "schedule/sketches/gpu/attention_tile.h"

#include <algorithm>
#include <optional>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

constexpr int64_t kWord = sizeof(float);                    // bytes
constexpr int64_t kVector = Target::kWidestAccess / kWord;  // words of the widest access
constexpr double kBytesFromL2 = 32;                         // of a multiprocessor, in a cycle
constexpr int64_t kSchedulers = 4;  // of a multiprocessor, from sm_75 to sm_90a

double Real(int64_t number) {
  return static_cast<double>(number);
}

int64_t TileKeys(const AttentionTile& tile) {
  return tile.lanes * tile.keys;
}
int64_t TileQueries(const AttentionTile& tile) {
  return tile.groups * tile.rows;
}

int64_t SharedBytes(const AttentionTile& tile, const AttentionExtents& extents) {
  int64_t width = tile.lanes * tile.columns;
  int64_t staged = TileKeys(tile) * (StagedRow(extents.depth) + width);
  int64_t own = TileQueries(tile) * (StagedRow(extents.depth) + 2 * TileKeys(tile));
  return kWord * (tile.stages * staged + own);
}

// Estimates the issue slots of a warp for one tile of keys: multiply-adds, loads from shared
// memory, row statistics, and copies.
double SlotsOf(const AttentionTile& t, const AttentionExtents& e) {
  // The multiprocessor's one path to shared memory takes a cycle or more for a load of 16 bytes.
  constexpr double kSlotsOfLoad = kSchedulers;
  double loads = kSlotsOfLoad / Real(kVector);  // of a word
  double rows = Real(t.rows), keys = Real(t.keys), all = Real(TileKeys(t));
  double scores = Real(e.depth) * (rows * keys + loads * (rows + keys));
  double sums = all * (rows * Real(t.columns) + loads * (rows + Real(t.columns)));
  double statistics = 200 + rows * (30 * keys + 60 + 2 * Real(t.columns));
  double copies = 15 * all * Real(e.depth + e.width) / Real(kVector) / Real(t.lanes * t.groups);
  return scores + sums + statistics + copies;
}

// Estimates the time of the busiest multiprocessor in cycles of a scheduler.
double TimeOf(const AttentionTile& tile, const AttentionExtents& extents, const Target& target) {
  int64_t width = tile.lanes * tile.columns;
  int64_t blocks = extents.heads * CeilDivision(extents.queries, TileQueries(tile)) *
                   CeilDivision(extents.width, width);
  int64_t most = CeilDivision(blocks, target.multiprocessors);  // of a multiprocessor
  int64_t resident = std::max<int64_t>(target.shared_bytes / SharedBytes(tile, extents), 1);
  double warps = Real(CeilDivision(tile.lanes * tile.groups, Target::kWarp)) / Real(kSchedulers);
  // One warp leaves half of a scheduler's cycles idle.
  double active = warps * Real(std::min(most, resident));
  double idle = std::max(1.0, 2 / active);
  double empty = std::max(1.0, Real(target.multiprocessors) / Real(blocks));
  // Without a second stage all warps wait for each tile.
  int64_t tiles = CeilDivision(extents.keys, TileKeys(tile));
  double waits = tiles > 1 && tile.stages == 1 ? 1.25 : 1;
  double slots = Real(tiles) * SlotsOf(tile, extents) * warps * Real(most) * idle * waits;
  // Every block reads all keys and values from L2.
  double bytes = Real(extents.keys * (extents.depth + width) * kWord);
  double copies = Real(most) * bytes / kBytesFromL2;
  // A tail also costs conditions.
  double padding = Real(tiles * TileKeys(tile)) / Real(extents.keys);
  return (std::max(slots, copies) + std::min(slots, copies) / 4) * empty * padding;
}

// Returns the columns of a lane: whole vectors, or few.
int64_t ColumnsOf(int64_t width, int64_t lanes) {
  int64_t columns = CeilDivision(width, lanes);
  if (columns > 2) columns = RoundUp(columns, kVector);
  return std::min(columns, kMaxAttentionColumns);
}

// Returns the most stages with which the tile fits; 0 if it does not fit.
int64_t StagesOf(AttentionTile tile, const AttentionExtents& extents, const Target& target) {
  bool async = target.sm >= kAsyncCopies;
  // Two thread blocks hide each other's latency.
  int64_t most = std::max(target.limits.default_shared_bytes, target.shared_bytes / 2);
  for (tile.stages = async && TileKeys(tile) < extents.keys ? 2 : 1; tile.stages > 0;
       --tile.stages) {
    if (SharedBytes(tile, extents) <= (async ? most : target.limits.default_shared_bytes)) break;
  }
  return tile.stages;
}

}  // namespace

int64_t StagedRow(int64_t cells) {
  int64_t vectors = CeilDivision(cells, kVector);
  return kVector * (vectors % 2 == 0 ? vectors + 1 : vectors);
}

AttentionTile ChooseAttentionTile(const AttentionExtents& extents, const Target& target) {
  AttentionTile best;
  std::optional<double> least;
  auto consider = [&](AttentionTile tile) {
    tile.columns = ColumnsOf(extents.width, tile.lanes);
    tile.stages = StagesOf(tile, extents, target);
    int64_t cells = tile.rows * (2 * tile.columns + tile.keys);
    if (tile.stages == 0 || cells > kMaxAttentionCells) return;
    double time = TimeOf(tile, extents, target);
    if (least && time >= *least) return;
    least = time;
    best = tile;
  };
  for (int64_t lanes : {8, 16, 32}) {
    for (int64_t groups : {1, 2, 4, 8, 16, 32}) {
      int64_t threads = lanes * groups;
      if (threads < Target::kWarp || threads > kMaxAttentionThreads) continue;
      for (int64_t rows : {1, 2, 4, 8}) {
        for (int64_t keys = 1; keys <= kMaxAttentionKeys; ++keys) {
          consider({.lanes = lanes, .groups = groups, .rows = rows, .keys = keys});
        }
      }
    }
  }
  if (!least) best = {.lanes = Target::kWarp, .columns = ColumnsOf(extents.width, Target::kWarp)};
  return best;
}

}  // namespace tcc
