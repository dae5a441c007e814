#include "schedule/sketches/parts/lane_reduction.h"

#include <fmt/format.h>

#include "ir/analysis/accesses.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor.h"
#include "schedule/steps/split.h"

namespace tcc {
namespace {

// Independent accumulators, each of all lanes. The lanes' loop was vectorized where it stood; what
// RFactor copies of it is so, too.
bool SpreadOverRegisters(SketchState& state, const std::string& name, const std::string& key,
                         int64_t rank) {
  std::string lanes = name + ".lanes";
  std::string registers = name + ".registers";
  return state.Try(RFactor{lanes, lanes + key + ".1", rank, Scope::kLocal, registers}) &&
         state.Try(Unroll{registers + key + ".1"}) &&
         state.Try(Unroll{registers + ".init" + key + ".1"}) &&
         state.Try(Unroll{lanes + key + ".1"});
}

// The lanes of a vector by quarters of it, then one by one.
bool CombineLanes(SketchState& state, const std::string& name, const std::string& lane,
                  const Expr& lanes, bool is_wide) {
  if (!is_wide) return state.Try(Unroll{name + lane});
  std::string quarter = name + ".quarter";
  return state.Try(Split{name + lane, {FloorDivide(lanes, 4)}}) &&
         state.Try(RFactor{name, name + lane + ".1", -1, Scope::kLocal, quarter}) &&
         state.Try(Unroll{quarter + lane + ".0"}) && state.Try(Vectorize{quarter + lane + ".1"}) &&
         state.Try(Vectorize{quarter + ".init" + lane + ".1"}) &&
         state.Try(Unroll{name + lane + ".1"});
}

// A vector of each row in turn; everything else of the rows unrolled.
bool InterleaveRows(SketchState& state, const LaneReduction& reduction, const std::string& key) {
  const std::string& name = reduction.block;
  std::string rows = reduction.rows.substr(reduction.rows.find('/'));
  std::string lanes = name + ".lanes";
  bool done = state.Try(Reorder{{lanes + key + ".0", lanes + rows}});
  for (const char* part : {"", ".init", ".lanes", ".lanes.init", ".quarter", ".quarter.init"}) {
    LoopRef loop = fmt::format("{}{}{}", name, part, rows);
    done = done && (!FindLoop(state.fn(), loop).ok() || state.Try(Unroll{loop}));
  }
  return done;
}

}  // namespace

bool ReduceInLanes(SketchState& state, const LaneReduction& reduction) {
  const std::string& name = reduction.block;
  StatusOr<Path> path = FindBlock(state.fn(), name);
  if (!path.ok()) return false;
  std::vector<Access> results = WritesOf(*BlockAt(*path));
  auto rank = static_cast<int64_t>(results[0].indices.size());
  auto elements = static_cast<int64_t>(results.size());
  int64_t start = reduction.lanes;
  while (start > reduction.extent) start /= 2;
  bool is_long = reduction.extent >= kMinLongLoopVectors * start && reduction.rows.empty();
  bool is_wide = start >= kMinQuarteredLanes;
  size_t level = is_long ? 2 : 1;
  Expr lanes = state.Size(LevelKey(reduction.loop, level), start,
                          PowersOfTwo(is_wide ? kMinQuarteredLanes : 1, start), start);
  std::vector<Expr> factors = {lanes};
  if (is_long) {
    int64_t registers_wanted = std::max<int64_t>(kLaneAccumulators / elements, 1);
    Expr registers =
        state.Size(LevelKey(reduction.loop, 1), 2 * kLaneAccumulators, {}, registers_wanted);
    factors.insert(factors.begin(), registers);
  }
  std::string key = reduction.loop.substr(reduction.loop.find('/'));
  std::string lane = LevelKey(key, level);
  std::string partial = name + ".lanes";
  bool done = state.Try(Split{reduction.loop, factors}) &&
              state.Try(RFactor{name, name + lane, -1, Scope::kLocal, partial}) &&
              state.Try(Vectorize{partial + lane}) &&
              state.Try(Vectorize{partial + ".init" + lane});
  if (done && is_long) done = SpreadOverRegisters(state, name, key, rank);
  done = done && CombineLanes(state, name, lane, lanes, is_wide);
  done = done && (reduction.rows.empty() || InterleaveRows(state, reduction, key));
  bool is_short = !is_long && reduction.extent <= kMaxUnrolledVectors * start;
  return done && (!is_short || state.Try(Unroll{partial + key + ".0"}));
}

}  // namespace tcc
