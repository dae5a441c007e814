#include "ir/analysis/accesses.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/cpu/sliding_rows.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/rolling_buffer.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// The map computes the rows that are new, by vectors along its last axis.
bool RollRows(SketchState& state, const SlidingRows& rolling, const std::string& map,
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
  std::optional<SlidingRows> rolling = FindSlidingRows(t, WritesOf(producer)[0].buffer);
  if (!rolling) return std::nullopt;
  // At first so many rows of windows that there are some pieces.
  int64_t pieces = CeilDivision(kParallelPieces, t.Others(rolling->axis));
  std::vector<LoopRef> outer;
  LoopRef row = TilePieces(t, *rolling, pieces, outer);
  if (!RollRows(t.state, *rolling, producer.name, row, target)) return std::nullopt;
  RunInParallel(t.state, block, outer);
  return std::move(t.state);
}

}  // namespace tcc
