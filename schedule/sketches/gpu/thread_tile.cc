#include "schedule/sketches/gpu/thread_tile.h"

#include <algorithm>
#include <limits>

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/gpu/tile_time.h"
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

// Returns how much more than an extent its parts cover. A tail also costs conditions, more so with
// each axis that has one.
double PaddingOf(int64_t extent, int64_t part) {
  double tail = extent % part == 0 ? 1 : 1.1;
  return tail * static_cast<double>(CeilDivision(extent, part) * part) /
         static_cast<double>(extent);
}

// Returns all tiles with one more axis to the left: the one with the least padding per number of
// threads and of results per thread.
std::vector<Tile> WithAxis(const std::vector<Tile>& tiles, int64_t extent) {
  std::vector<Tile> best(static_cast<size_t>((kTileThreads + 1) * (kTileInner + 1)));
  for (const Tile& tile : tiles) {
    if (tile.padding == 0) continue;
    for (int64_t t = 1; t <= std::min(extent, kTileThreads / tile.threads); ++t) {
      for (int64_t i = 1; i <= std::min(CeilDivision(extent, t), kTileInner / tile.inner); ++i) {
        double padding = tile.padding * PaddingOf(extent, t * i);
        int64_t place = tile.threads * t * (kTileInner + 1) + tile.inner * i;
        Tile& other = best[static_cast<size_t>(place)];
        if (other.padding != 0 && other.padding <= padding) continue;
        other = {tile.levels, tile.threads * t, tile.inner * i, padding};
        other.levels.insert(other.levels.begin(), {1, t, i});
      }
    }
  }
  std::erase_if(best, [](const Tile& tile) { return tile.padding == 0; });
  return best;
}

// Returns the number of cells that one load from shared memory gives to a thread that reads `inner`
// neighbours.
int64_t LoadedCells(int64_t inner) {
  return inner % 4 == 0 ? 4 : inner % 2 == 0 ? 2 : 1;
}

// A step of the reduction, and the ways to deal its steps to parts.
struct Cut {
  std::vector<StepLevels> step;
  int64_t terms = 1;  // of a step
  struct Parts {
    int64_t parts = 1;
    int64_t steps = 1;  // of each
  };
  std::vector<Parts> ways;
};

class TileChooser {
 public:
  TileChooser(const TiledProduct& product, const Target& target)
      : p_(product),
        gpu_(GpuProfileOf(target)),
        multiple_(target.ThreadMultiple()),
        stages_(target.sm >= kAsyncCopies ? kTileStages : 2),
        shared_limit_(target.shared_bytes),
        stages_operands_(!target.shared_is_memory) {
    for (int64_t extent : p_.spatial) results_ *= std::max<int64_t>(extent, 1);
    for (int64_t extent : p_.reduce) terms_ *= std::max<int64_t>(extent, 1);
  }

  ThreadTileChoice Choose() {
    const std::vector<Cut> cuts = Cuts();
    for (const Tile& rows : RowTiles()) {
      for (const ThreadLevels& columns : ColumnLevels(rows)) {
        const int64_t threads = rows.threads * columns.threads;
        if (threads > multiple_ && threads % multiple_ != 0) continue;
        std::vector<ThreadLevels> levels = rows.levels;
        levels.push_back(columns);
        for (const Cut& cut : cuts) Consider(levels, cut);
      }
    }
    const std::optional<ThreadTile>& whole = whole_.tile ? whole_.tile : least_;
    return {.whole = whole.value(), .in_parts = in_parts_.tile};
  }

 private:
  // Returns whether all operands have the axis, so that elements along it share nothing.
  bool IsShared(size_t axis) const {
    return std::ranges::all_of(p_.operands, [&](const auto& operand) { return operand.has[axis]; });
  }

  std::vector<Tile> RowTiles() const {
    const size_t rows = p_.spatial.size() - 1;
    bool has_rows = false;
    for (size_t axis = 0; axis < rows; ++axis) {
      has_rows = has_rows || (!IsShared(axis) && p_.spatial[axis] > 1);
    }
    std::vector<Tile> tiles = {{{}, 1, 1, 1}};
    for (size_t axis = rows; axis-- > 0;) {
      if (has_rows && IsShared(axis)) {
        for (Tile& tile : tiles) tile.levels.insert(tile.levels.begin(), ThreadLevels());
      } else {
        tiles = WithAxis(tiles, std::max<int64_t>(p_.spatial[axis], 1));
      }
    }
    return tiles;
  }

  // Returns the levels of the last axis for tiles of those rows; the number of threads evens out
  // the tail. More than 4 columns of a thread are dealt as vectors, which keeps its loads free of
  // bank conflicts, and pay off for many rows.
  std::vector<ThreadLevels> ColumnLevels(const Tile& rows) const {
    const int64_t columns = std::max<int64_t>(p_.spatial.back(), 1);
    std::vector<ThreadLevels> levels;
    for (const auto& [vthreads, inner] : {std::pair{2, 4}, {1, 4}, {1, 2}, {1, 1}}) {
      if (vthreads > 1 && rows.inner < kRowsOfWideTile) continue;
      if (vthreads * inner > columns) continue;
      for (int64_t most = kTileThreads / rows.threads; most >= 1; most /= 2) {
        const int64_t groups = CeilDivision(columns, int64_t{vthreads} * inner);
        const int64_t threads = CeilDivision(groups, CeilDivision(groups, most));
        const bool known = std::ranges::any_of(levels, [&](const ThreadLevels& other) {
          return other.vthreads == vthreads && other.inner == inner && other.threads == threads;
        });
        if (!known) levels.push_back({vthreads, threads, inner});
      }
    }
    return levels;
  }

  // Returns a step of about `most` terms of the last reduce axis. Where it has fewer, whole axes
  // outside it join in until there are as many: a convolution of few channels takes a row of its
  // window.
  std::vector<StepLevels> StepOf(int64_t most) const {
    std::vector<StepLevels> step(p_.reduce.size());
    int64_t terms = 1;
    for (size_t r = step.size(); r-- > 0 && terms < most;) {
      const int64_t extent = std::max<int64_t>(p_.reduce[r], 1);
      if (terms > 1) {
        step[r].turns = std::min(extent, kMaxTurns);
      } else {
        step[r].inner = std::min(extent, stages_operands_ ? kTileUnrolled : kHeldTerms);
        step[r].turns = std::min(most, extent) / step[r].inner;
      }
      terms *= step[r].inner * step[r].turns;
      if (step[r].inner * step[r].turns < extent) break;
    }
    return step;
  }

  std::vector<Cut> Cuts() const {
    std::vector<Cut> cuts;
    const size_t longest = LongestAxis(p_.reduce);
    for (int64_t most : {kLongestStep, kLongestStep / 2, kReductionStep}) {
      Cut cut{.step = StepOf(most), .terms = 1, .ways = {}};
      int64_t others = 1, other_steps = 1;
      for (size_t r = 0; r < p_.reduce.size(); ++r) {
        const int64_t taken = cut.step[r].turns * cut.step[r].inner;
        cut.terms *= taken;
        if (r == longest) continue;
        others *= p_.reduce[r];
        other_steps *= CeilDivision(p_.reduce[r], taken);
      }
      const int64_t extent = p_.reduce[longest];
      const int64_t step = cut.step[longest].turns * cut.step[longest].inner;
      cut.ways.push_back({1, other_steps * CeilDivision(extent, step)});
      // Parts that are no whole steps have guards, and copies that are not aligned.
      for (int64_t multiple : {step, int64_t{1}}) {
        if (cut.ways.size() > 1 || extent < 2 * kReductionStep) break;
        for (int64_t parts = 2; parts <= kMaxSplitParts; ++parts) {
          const int64_t part = CeilDivision(extent, parts);
          const bool fits = part % multiple == 0 && part * others >= kMinPartTerms &&
                            CeilDivision(extent, part) == parts;
          if (fits) cut.ways.push_back({parts, other_steps * CeilDivision(part, step)});
        }
      }
      cuts.push_back(std::move(cut));
    }
    return cuts;
  }

  TileWork WorkOf(const std::vector<ThreadLevels>& levels, const Cut& cut) const {
    TileWork work{.multiply_adds = cut.terms};
    for (size_t axis = 0; axis < levels.size(); ++axis) {
      const auto& [vthreads, threads, inner] = levels[axis];
      work.threads *= threads;
      work.multiply_adds *= vthreads * inner;
      work.blocks *=
          CeilDivision(std::max<int64_t>(p_.spatial[axis], 1), vthreads * threads * inner);
    }
    work.registers = kTileRegisters + work.multiply_adds / cut.terms;
    for (const TiledOperand& operand : p_.operands) AddOperand(operand, levels, cut, work);
    work.registers = std::min(work.registers, kCudaLimits.registers);
    return work;
  }

  void AddOperand(const TiledOperand& operand, const std::vector<ThreadLevels>& levels,
                  const Cut& cut, TileWork& work) const {
    int64_t of_thread = 1, of_block = cut.terms;
    for (size_t axis = 0; axis < levels.size(); ++axis) {
      if (!operand.has[axis]) continue;
      const auto& [vthreads, threads, inner] = levels[axis];
      of_thread *= vthreads * inner;
      of_block *= vthreads * threads * inner;
    }
    const int64_t cells =
        LoadedCells(operand.last ? levels[*operand.last].inner : cut.step.back().inner);
    const double loads = static_cast<double>(of_thread * cut.terms) / static_cast<double>(cells);
    work.loads += loads;
    work.load_cycles += loads * (cells == 4 ? kVectorLoadCycles : 1);
    work.copied_bytes += static_cast<double>(of_block * operand.cell_bytes);
    if (stages_operands_) {
      work.copies +=
          static_cast<double>(of_block) / static_cast<double>(operand.lanes * work.threads);
      work.shared_bytes += stages_ * of_block * operand.cell_bytes;
    }
    // A load along the reduction holds cells of later terms.
    work.registers += of_thread * (operand.last ? 1 : cells);
  }

  // Returns whether so few blocks leave most of the device without work that is worth dealing out.
  bool Starves(int64_t blocks) const {
    return kStarvingShare * blocks < gpu_.multiprocessors && terms_ * results_ > kWorthDealing;
  }

  // Returns whether a block has room. Registers that are too many cost time, but operands that are
  // held in them would be read from memory again.
  bool Fits(const TileWork& work) const {
    if (stages_operands_) return work.shared_bytes <= shared_limit_;
    return work.registers <= kHeldRegisters && work.threads <= kHeldThreads;
  }

  void Consider(const std::vector<ThreadLevels>& levels, const Cut& cut) {
    TileWork work = WorkOf(levels, cut);
    if (!Fits(work)) return KeepLeast(levels, cut, work.registers);
    const ThreadLevels& columns = levels.back();
    const bool tail = p_.spatial.back() % (columns.vthreads * columns.threads * columns.inner) != 0;
    const double slowdown = tail ? kColumnTailPercent / 100.0 : 1;
    const int64_t tiles = work.blocks;
    for (const auto& [parts, steps] : cut.ways) {
      work.blocks = tiles * parts;
      work.steps = steps;
      const double seconds =
          slowdown * SecondsOf(work, gpu_) + SecondsOfParts(parts, results_, gpu_);
      const bool starves = Starves(work.blocks);
      Best& best = parts > 1 ? in_parts_ : whole_;
      if (best.tile && std::pair(starves, seconds) >= std::pair(best.starves, best.tile->seconds)) {
        continue;
      }
      best = {ThreadTile{levels, cut.step, parts, seconds}, starves};
    }
  }

  // Keeps the tile that takes the least registers, for many operands that are held in registers.
  void KeepLeast(const std::vector<ThreadLevels>& levels, const Cut& cut, int64_t registers) {
    if (stages_operands_ || registers >= least_registers_) return;
    least_registers_ = registers;
    least_ = ThreadTile{levels, cut.step, 1, std::numeric_limits<double>::infinity()};
  }

  struct Best {
    std::optional<ThreadTile> tile;
    bool starves = false;
  };

  const TiledProduct& p_;
  const GpuProfile& gpu_;
  int64_t multiple_, stages_, shared_limit_;
  bool stages_operands_;
  int64_t results_ = 1;
  int64_t terms_ = 1;  // of a result
  Best whole_, in_parts_;
  std::optional<ThreadTile> least_;
  int64_t least_registers_ = std::numeric_limits<int64_t>::max();
};

}  // namespace

size_t LongestAxis(std::span<const int64_t> reduce) {
  return static_cast<size_t>(std::ranges::max_element(reduce) - reduce.begin());
}

ThreadTileChoice ChooseThreadTile(const TiledProduct& product, const Target& target) {
  return TileChooser(product, target).Choose();
}

}  // namespace tcc
