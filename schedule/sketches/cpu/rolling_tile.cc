#include "schedule/sketches/cpu/cpu_rules.h"

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/register_tiling.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/rolling_buffer.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// A spatial axis along which windows slide over dimension `dim` of a buffer.
struct RollingRows {
  std::string buffer;
  size_t dim = 0;
  size_t axis = 0;  // of the spatial ones
};

// The axis along which rows of `buffer` may be kept, outside of the tiles. Rows inside of them, as
// pools of planes (NCHW) have, are not: by hand, rows that roll were no faster than a padded copy
// of a plane, and both 10 to 90 % slower than masks at the borders where a row is at most one
// vector, or whole ones; 20 to 40 % faster where it is neither.
std::optional<RollingRows> FindRows(const RegisterTiling& tiling, const Var& buffer) {
  const Block& block = tiling.block();
  for (const Access& read : ReadsOf(block)) {
    if (!(read.buffer == buffer)) continue;
    for (size_t d = 0; d < read.indices.size(); ++d) {
      for (size_t s = 0; tiling.rows() && s < *tiling.rows(); ++s) {
        bool slides = s != tiling.columns() && tiling.Extent(s) > 1 &&
                      Slides(read.indices[d], block) &&
                      UsesVar(read.indices[d], block.iters[tiling.spatial()[s]].var);
        if (slides) return RollingRows{buffer->name, d, s};
      }
    }
  }
  return std::nullopt;
}

// The map computes the rows that are new, by vectors along its last axis.
bool RollRows(SketchState& state, const RollingRows& rolling, const std::string& map,
              const LoopRef& at, const Target& target) {
  bool placed = state.Try(ComputeAt{map, at}) &&
                state.Try(RollingBuffer{rolling.buffer, static_cast<int64_t>(rolling.dim)});
  if (!placed) return false;
  const Block& producer = *FindBlock(state.fn(), map).value().back().as<Block>();
  int64_t extent = ExtentOf(producer, producer.iters.size() - 1);
  std::string axis = KeysOf(producer, {producer.iters.size() - 1})[0].substr(map.size());
  std::string names[] = {map, map + ".fill"};
  Expr lanes = LanesOf(state, LevelKey(map + axis, 1), extent, 2 * target.FloatLanes(),
                       MapLanes(extent, target));
  for (const std::string& name : names) {
    state.Do(Split{name + axis, {lanes}});
    state.Do(Vectorize{LevelKey(name + axis, 1)});
    state.MarkDone(name);
  }
  return true;
}

}  // namespace

std::optional<SketchState> TileOverRollingRows(const SketchState& state, const Block& producer,
                                               const Block& block, const Target& target) {
  RegisterTiling t(state, block, target);
  std::optional<RollingRows> rolling = FindRows(t, WritesOf(producer)[0].buffer);
  if (!rolling) return std::nullopt;
  ResultReader reader = KeepResultLocal(t.state, block);
  t.SplitTile(1, t.TilesOfPiece(1));

  // A thread's rows of windows, at first so many that there are some pieces.
  LoopRef windows = t.Key(rolling->axis);
  int64_t extent = t.Extent(rolling->axis);
  int64_t start = CeilDivision(extent, CeilDivision(kParallelPieces, t.Others(rolling->axis)));
  t.state.Do(Split{windows, {t.state.Size(LevelKey(windows, 1), extent, {}, start)}});

  std::vector<LoopRef> outer;
  for (size_t s = 0; s < t.spatial().size(); ++s) {
    if (s == t.columns() || t.rows() == s) continue;
    outer.push_back(s == rolling->axis ? LevelKey(windows, 0) : t.Key(s));
  }
  LoopRef columns = t.Key(t.columns()), rows = t.Key(*t.rows());
  std::vector<LoopRef> order = outer;
  order.insert(order.end(), {LevelKey(windows, 1), LevelKey(columns, 0), LevelKey(rows, 0),
                             LevelKey(columns, 1), LevelKey(rows, 1)});
  std::vector<LoopRef> reduce = KeysOf(block, t.reduce());
  t.NestTile(order, reduce);
  t.state.Do(ReverseComputeAt{reader.block, LevelKey(rows, 1)});
  t.state.Do(DecomposeReduction{block.name, reduce[0]});
  t.FillRegisters({block.name, block.name + ".init"});
  t.FillReader(reader);
  t.UnrollWindow();
  if (!RollRows(t.state, *rolling, producer.name, LevelKey(windows, 1), target)) {
    return std::nullopt;
  }
  RunInParallel(t.state, block, outer);
  return std::move(t.state);
}

}  // namespace tcc
