#include "schedule/sketches/gpu/part_sum.h"

#include <numeric>

#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "support/check.h"

namespace tcc {
namespace {

// The loops of a tile, dealt to the threads of a block.
struct DealtLoops {
  std::vector<LoopRef> along_y, along_x, inner;
};

DealtLoops Deal(SketchState& state, const std::vector<LoopRef>& loops,
                const std::vector<SummedAxis>& axes) {
  DealtLoops dealt;
  for (size_t s = 0; s < loops.size(); ++s) {
    const auto& [along_y, along_x, cells] = axes[s];
    std::vector<Expr> factors;
    if (along_y && along_x) factors.push_back(along_x);
    if (along_y || along_x) factors.push_back(cells);
    if (!factors.empty()) state.Do(Split{loops[s], factors});
    size_t level = 0;
    if (along_y) dealt.along_y.push_back(LevelKey(loops[s], level++));
    if (along_x) dealt.along_x.push_back(LevelKey(loops[s], level++));
    dealt.inner.push_back(factors.empty() ? loops[s] : LevelKey(loops[s], level));
  }
  return dealt;
}

// Adds a free size for vectors along the last axis, of which each has only whole ones at first.
Expr LanesAlong(SketchState& state, const LoopRef& loop, const Expr& cells, int64_t extent) {
  const Decisions starts = state.start();
  Assignment values;
  for (const Var& var : VarsOf(cells)) values[var] = starts.at(var->name);
  std::optional<int64_t> start = EvaluateInt(cells, values);
  TCC_CHECK(start) << loop;
  return state.Size(LevelKey(loop, 1), 4, {DomainKind::kChoice, {1, 2, 4}},
                    CopyLanes(std::gcd(*start, extent)));
}

// Splits the innermost loop into vectors and unrolls the others: they are over registers.
void Spread(SketchState& state, const std::vector<LoopRef>& loops, const Expr& lanes) {
  state.Do(Split{loops.back(), {lanes}});
  for (size_t i = 0; i + 1 < loops.size(); ++i) state.Do(Unroll{loops[i]});
  state.Do(Unroll{LevelKey(loops.back(), 0)});
  state.Do(Vectorize{LevelKey(loops.back(), 1)});
}

}  // namespace

void SumParts(SketchState& state, const Block& reduction, const std::vector<SummedAxis>& axes,
              const ResultReader& reader) {
  const std::string& name = reduction.name;
  const Block& sum = *FindBlock(state.fn(), name).value().back().as<Block>();
  const LoopRef parts = BaseKey(name, sum.iters[ItersOf(sum, IterKind::kReduce)[0]]);
  const std::vector<size_t> spatial = ItersOf(sum, IterKind::kSpatial);
  const int64_t last_extent = ExtentOf(reduction, ItersOf(reduction, IterKind::kSpatial).back());
  DealtLoops dealt = Deal(state, KeysOf(sum, spatial), axes);
  const Expr lanes = LanesAlong(state, dealt.inner.back(), axes.back().cells, last_extent);
  std::vector<LoopRef> order = dealt.along_y;
  order.insert(order.end(), dealt.along_x.begin(), dealt.along_x.end());
  order.push_back(parts);
  order.insert(order.end(), dealt.inner.begin(), dealt.inner.end());
  state.Do(Reorder{order});
  if (!dealt.along_y.empty()) {
    state.Do(Bind{FuseAll(state, dealt.along_y), ForKind::kThreadIdxY});
  }
  const LoopRef threads = FuseAll(state, dealt.along_x);
  state.Do(Bind{threads, ForKind::kThreadIdxX});
  state.Do(DecomposeReduction{name, parts});
  state.Do(ReverseComputeAt{reader.block, threads});
  std::vector<LoopRef> zeros;
  for (const LoopRef& loop : dealt.inner)
    zeros.push_back(name + ".init" + loop.substr(name.size()));
  for (const std::vector<LoopRef>& loops : {zeros, dealt.inner, reader.loops}) {
    Spread(state, loops, lanes);
  }
}

void SumPartsApart(SketchState& state, const Block& reduction, const LoopRef& parts,
                   const ResultReader& reader, const Target& target) {
  const LoopRef thread =
      SpreadOverThreads(state, KeysOf(reduction, ItersOf(reduction, IterKind::kSpatial)), target);
  state.Do(DecomposeReduction{reduction.name, parts});
  state.Do(ReverseComputeAt{reader.block, thread});
  for (const LoopRef& loop : reader.loops) state.Do(Unroll{loop});
}

}  // namespace tcc
