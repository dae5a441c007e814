#include "schedule/sketches/cpu/cpu_parts.h"

#include <optional>

#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prepack.h"

namespace tcc {

void RunInParallel(SketchState& state, const Block& block, const std::vector<LoopRef>& loops) {
  if (loops.empty() || WorkOf(block) < kParallelWork) return;
  state.Do(Parallel{FuseAll(state, loops)});
}

SketchState Prepacked(const SketchState& state, const Block& block) {
  SketchState next = state;
  if (std::optional<Prepack> step = PrepackOfStage(state.fn(), block)) next.Do(*step);
  return next;
}

}  // namespace tcc
