#include "schedule/sketches/cpu/cpu_parts.h"

#include <optional>

#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"

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

bool FillProductTile(SketchState& state, const Block& product, const Expr& lanes) {
  std::vector<size_t> spatial = ItersOf(product, IterKind::kSpatial);
  LoopRef rows = BaseKey(product.name, product.iters[spatial.rbegin()[1]]);
  LoopRef columns = BaseKey(product.name, product.iters[spatial.back()]);
  state.Do(Split{columns, {lanes}});
  std::vector<LoopRef> reduce = KeysOf(product, ItersOf(product, IterKind::kReduce));
  std::vector<LoopRef> order = reduce;
  order.insert(order.end(), {rows, LevelKey(columns, 0), LevelKey(columns, 1)});
  if (!state.Try(Reorder{order}) || !state.Try(DecomposeReduction{product.name, reduce[0]})) {
    return false;
  }
  for (const std::string& name : {product.name, product.name + ".init"}) {
    state.Do(Vectorize{LevelKey(Rekeyed(columns, name), 1)});
    state.Do(Unroll{LevelKey(Rekeyed(columns, name), 0)});
    state.Do(Unroll{Rekeyed(rows, name)});
  }
  return true;
}

}  // namespace tcc
