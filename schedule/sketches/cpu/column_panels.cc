#include "schedule/sketches/cpu/cpu_rules.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// Whether the reduction may go on inside the axis: values of one that some outputs lack repeat it.
bool IsColumn(const Block& block, size_t iter) {
  return block.iters[iter].kind == IterKind::kSpatial && !IsUnshared(block, block.iters[iter]);
}

bool AccessesContiguouslyAlong(const Function& fn, const Block& block, const Var& var) {
  std::vector<Access> accesses = ReadsOf(block);
  std::vector<Access> writes = WritesOf(block);
  accesses.insert(accesses.end(), writes.begin(), writes.end());
  return std::ranges::all_of(
      accesses, [&](const Access& access) { return IsContiguousAlong(fn, access, var); });
}

// The largest number up to `most` that divides `extent`.
int64_t LargestDivisor(int64_t extent, int64_t most) {
  int64_t part = std::clamp<int64_t>(extent, 1, most);
  while (extent % part != 0) --part;
  return part;
}

class ColumnPanels {
 public:
  ColumnPanels(const SketchState& state, const Block& block, const Target& target)
      : state_(state),
        found_(BlockAt(FindBlock(state.fn(), block.name).value())),
        block_(*found_),
        target_(target) {
    while (leading_ < block.iters.size() && IsColumn(block, leading_)) ++leading_;
  }

  // False where a step is not legal.
  bool Build() {
    bool first = true;  // of the columns, from the innermost
    for (size_t i = block_.iters.size(); i-- > 0;) {
      LoopRef loop = BaseKey(block_.name, block_.iters[i]);
      if (!IsColumn(block_, i)) {
        Prepend(reduction_, loop);
      } else if (first && AccessesContiguouslyAlong(state_.fn(), block_, block_.iters[i].var)) {
        SplitLanes(loop, ExtentOf(block_, i));
      } else if (i > leading_) {
        SplitColumns(loop, ExtentOf(block_, i));
      } else {
        Prepend(outer_, loop);
      }
      first = first && !IsColumn(block_, i);
    }
    std::vector<LoopRef> order = outer_;
    order.insert(order.end(), reduction_.begin(), reduction_.end());
    order.insert(order.end(), panel_.begin(), panel_.end());
    if (!panel_.empty() && !state_.Try(Reorder{order})) return false;
    if (!lanes_.empty() && !state_.Try(Vectorize{lanes_})) return false;
    RunInParallel(state_, block_, outer_);
    return true;
  }

  const SketchState& state() const { return state_; }

 private:
  static void Prepend(std::vector<LoopRef>& loops, const LoopRef& loop) {
    loops.insert(loops.begin(), loop);
  }

  void SplitLanes(const LoopRef& loop, int64_t extent) {
    int64_t start = MapLanes(extent, target_);
    lanes_ = LevelKey(loop, 2);
    Expr lanes = LanesOf(state_, lanes_, extent, 2 * target_.FloatLanes(), start);
    int64_t vectors = CeilDivision(extent, start);
    int64_t panel = LargestDivisor(vectors, std::max<int64_t>(left_ / start, 1));
    Expr part = state_.Size(LevelKey(loop, 1), vectors, {}, panel);
    state_.Do(Split{loop, {part, lanes}});
    panel_ = {LevelKey(loop, 1), lanes_};
    Prepend(outer_, LevelKey(loop, 0));
    left_ /= panel * start;
  }

  void SplitColumns(const LoopRef& loop, int64_t extent) {
    int64_t panel = LargestDivisor(extent, std::max<int64_t>(left_, 1));
    Expr part = state_.Size(LevelKey(loop, 1), extent, {}, panel);
    state_.Do(Split{loop, {part}});
    Prepend(panel_, LevelKey(loop, 1));
    Prepend(outer_, LevelKey(loop, 0));
    left_ /= panel;
  }

  SketchState state_;
  const Ref<Block> found_;  // as it is before the first step
  const Block& block_;
  const Target& target_;
  size_t leading_ = 0;                              // axes in front of the reduction
  int64_t left_ = kOrderedPanelColumns;             // of the panel's columns, for axes further out
  std::vector<LoopRef> outer_, reduction_, panel_;  // each from the outermost inwards
  LoopRef lanes_;
};

}  // namespace

SketchState ScheduleColumnPanels(const SketchState& state, const Block& block,
                                 const Target& target) {
  ColumnPanels panels(state, block, target);
  if (panels.Build()) return panels.state();
  SketchState rows = state;
  std::vector<size_t> leading;
  while (leading.size() < block.iters.size() && IsColumn(block, leading.size())) {
    leading.push_back(leading.size());
  }
  RunInParallel(rows, block, KeysOf(block, leading));
  return rows;
}

}  // namespace tcc
