#include "schedule/sketches/gpu/gpu_parts.h"

#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/split.h"

namespace tcc {

int64_t BusyBlocks(const Target& target) {
  return kBusyBlocks * target.multiprocessors;
}

LoopRef SpreadOverThreads(SketchState& state, const std::vector<LoopRef>& loops,
                          const Target& target) {
  LoopRef fused = FuseAll(state, loops), threads = LevelKey(fused, 1);
  Domain multiples{DomainKind::kMultiples, {target.ThreadMultiple()}};
  state.Do(
      Split{fused, {state.Size(threads, target.limits.max_threads, multiples, kBlockThreads)}});
  state.Do(Bind{LevelKey(fused, 0), ForKind::kBlockIdxX});
  state.Do(Bind{threads, ForKind::kThreadIdxX});
  return threads;
}

bool FetchTogether(SketchState& state, const std::vector<LoopRef>& loops, const Expr& threads) {
  LoopRef fused = FuseAll(state, loops);
  state.Do(Split{fused, {threads}});
  return state.Try(Bind{LevelKey(fused, 1), ForKind::kThreadIdxX});
}

}  // namespace tcc
