#include "schedule/sketches/gpu/thread_tile.h"

#include <algorithm>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// The levels for some axes, and the padding: how much more than the extents they cover.
struct Tile {
  std::vector<ThreadLevels> levels;
  int64_t threads = 1;
  int64_t inner = 1;
  double padding = 0;  // 0: there is no such tile
};

double Inverse(int64_t number) {
  return 1 / static_cast<double>(number);
}

// Returns how much more than an extent its parts cover. A tail also costs conditions, more so with
// each axis that has one.
double PaddingOf(int64_t extent, int64_t part) {
  double tail = extent % part == 0 ? 1 : 1.1;
  return tail * static_cast<double>(CeilDivision(extent, part) * part) * Inverse(extent);
}

// Returns the cost per result. With 4 x 4 results per thread, 77 % of the main loop's instructions
// on sm_86 are multiply-adds, with 2 x 4 55 % and with 1 x 4 36 %. The operands of a thread block
// are fetched once per row and per column. Fewer threads hide less memory latency, and a partial
// warp costs a whole one.
double CostOf(const Tile& rows, const ThreadLevels& columns, double padding) {
  double instructions = 0.8 + 8 * Inverse(rows.inner * columns.inner);
  double fetched =
      4 * Inverse(rows.threads * rows.inner) + 4 * Inverse(columns.threads * columns.inner);
  int64_t threads = rows.threads * columns.threads;
  double idle = 0.1 * (static_cast<double>(kTileThreads) * Inverse(threads) - 1);
  double warps = static_cast<double>(CeilDivision(threads, Target::kWarp) * Target::kWarp);
  return rows.padding * padding * (instructions + fetched) * (1 + idle) * warps * Inverse(threads);
}

// Returns all tiles with one more axis to the left: the one with the least padding per number of
// threads and of results per thread.
std::vector<Tile> WithAxis(const std::vector<Tile>& tiles, int64_t extent, int64_t most_threads,
                           int64_t most_inner) {
  std::vector<Tile> best(static_cast<size_t>((most_threads + 1) * (most_inner + 1)));
  for (const Tile& tile : tiles) {
    if (tile.padding == 0) continue;
    for (int64_t t = 1; t <= std::min(extent, most_threads / tile.threads); ++t) {
      for (int64_t i = 1; i <= std::min(CeilDivision(extent, t), most_inner / tile.inner); ++i) {
        double padding = tile.padding * PaddingOf(extent, t * i);
        int64_t place = tile.threads * t * (most_inner + 1) + tile.inner * i;
        Tile& other = best[static_cast<size_t>(place)];
        if (other.padding != 0 && other.padding <= padding) continue;
        other = {tile.levels, tile.threads * t, tile.inner * i, padding};
        other.levels.insert(other.levels.begin(), {1, t, i});
      }
    }
  }
  return best;
}

// Returns how many times as long a tile takes for want of thread blocks: a multiprocessor without
// one waits.
double WaitingOf(const Tile& rows, const ThreadLevels& columns, std::span<const int64_t> extents,
                 const Target& target) {
  int64_t blocks =
      CeilDivision(std::max<int64_t>(extents.back(), 1), columns.threads * columns.inner);
  for (size_t axis = 0; axis + 1 < extents.size(); ++axis) {
    const ThreadLevels& level = rows.levels[axis];
    blocks *= CeilDivision(std::max<int64_t>(extents[axis], 1), level.threads * level.inner);
  }
  return std::max(1.0, static_cast<double>(target.multiprocessors) * Inverse(blocks));
}

}  // namespace

int64_t BusyBlocks(const Target& target) {
  return kBusyBlocks * target.multiprocessors;
}

std::vector<ThreadLevels> ChooseThreadTile(std::span<const int64_t> extents, bool in_parts,
                                           const Target& target) {
  if (extents.empty()) return {};
  int64_t busy = BusyBlocks(target) * kResultsOfTile;
  int64_t columns = std::max<int64_t>(extents.back(), 1);
  int64_t results = columns;
  for (int64_t extent : extents.first(extents.size() - 1)) results *= extent;
  int64_t most_inner = results >= 2 * busy ? 2 * kTileInner : kTileInner;
  std::vector<ThreadLevels> best;
  double least = 0;
  for (int64_t inner : {4, 2, 1}) {
    for (int64_t most : {16, 32, 64, 8, 4, 128, 256}) {
      // The number of threads evens out the tail.
      int64_t groups = CeilDivision(columns, inner);
      ThreadLevels last{1, CeilDivision(groups, CeilDivision(groups, most)), inner};
      double padding = PaddingOf(columns, last.threads * inner);
      std::vector<Tile> tiles = {{{}, 1, 1, 1}};
      for (size_t axis = extents.size() - 1; axis-- > 0;) {
        tiles = WithAxis(tiles, std::max<int64_t>(extents[axis], 1), kTileThreads / last.threads,
                         most_inner);
      }
      for (const Tile& rows : tiles) {
        if (rows.padding == 0) continue;
        double cost = CostOf(rows, last, padding);
        if (!in_parts) cost *= WaitingOf(rows, last, extents, target);
        if (!best.empty() && cost >= least) continue;
        least = cost;
        best = rows.levels;
        best.push_back(last);
      }
    }
  }
  bool wide = results >= 4 * busy && columns >= 128;
  if (wide) best.back().vthreads = 2;
  return best;
}

}  // namespace tcc
