#include "schedule/sketches/gpu/gpu_rules.h"

#include <algorithm>

#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/row_reduction.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/fuse.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/rfactor.h"
#include "schedule/steps/split.h"
#include "support/target.h"

namespace tcc {
namespace {

class LongRows {
 public:
  LongRows(const SketchState& state, const Block& block, const Target& target)
      : state_(state),
        name_(block.name),
        part_(block.name + ".part"),
        busy_blocks_(BusyBlocks(target)),
        max_threads_(target.limits.max_threads) {
    for (size_t i : ItersOf(block, IterKind::kSpatial)) results_ *= ExtentOf(block, i);
    for (size_t i : ItersOf(block, IterKind::kReduce)) row_ *= ExtentOf(block, i);
  }

  std::optional<SketchState> Build(const Block& block) {
    if (row_ < kMinLongRow || results_ * kMinLongRowParts > busy_blocks_) return std::nullopt;
    std::vector<LoopRef> rows = KeysOf(block, ItersOf(block, IterKind::kSpatial));
    if (!SplitRow(block) || !SpreadParts(rows) || !AddParts(rows)) return std::nullopt;
    for (const std::string& done : {name_, name_ + ".init", part_, part_ + ".init"}) {
      state_.MarkDone(done);
    }
    return state_;
  }

 private:
  // A loop of the block as a loop of its parts.
  LoopRef OfParts(const LoopRef& loop) const { return part_ + loop.substr(name_.size()); }

  // In vectors, which go to the parts in turn.
  bool SplitRow(const Block& block) {
    std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
    std::vector<LoopRef> loops = KeysOf(block, reduce);
    int64_t last = ExtentOf(block, reduce.back());
    lanes_ = LevelKey(loops.back(), 1);
    Expr vector = state_.Size(lanes_, std::min<int64_t>(last, 4),
                              PowersOfTwo(1, std::min<int64_t>(last, 4)), CopyLanes(last));
    if (!state_.Try(Split{loops.back(), {vector}})) return false;
    row_loop_ = LevelKey(loops.back(), 0);
    for (size_t i = loops.size() - 1; i-- > 0;) {
      if (!state_.Try(Fuse{loops[i], row_loop_})) return false;
      row_loop_ = FusedKey(loops[i], row_loop_);
    }
    int64_t vectors = row_ / CopyLanes(last);
    int64_t wanted = std::max(vectors * results_ / busy_blocks_, kLongRowThreads);
    Expr chunk = state_.Size(LevelKey(row_loop_, 1), vectors, PowersOfTwo(64, vectors), wanted);
    return state_.Try(Split{row_loop_, {chunk}}) &&
           state_.Try(RFactor{name_, LevelKey(row_loop_, 0), 0, Scope::kGlobal, part_});
  }

  bool SpreadParts(const std::vector<LoopRef>& rows) {
    LoopRef parts = OfParts(LevelKey(row_loop_, 0)), chunk = OfParts(LevelKey(row_loop_, 1));
    Expr threads =
        state_.Size(LevelKey(chunk, 2), max_threads_, PowersOfTwo(32, 1024), kLongRowThreads);
    Expr steps = state_.Size(LevelKey(chunk, 1), kMaxLoadsInFlight,
                             PowersOfTwo(1, kMaxLoadsInFlight), kLongRowLoads);
    if (!state_.Try(DecomposeReduction{part_, chunk}) ||
        !state_.Try(Split{chunk, {steps, threads}}) ||
        !state_.Try(Bind{LevelKey(chunk, 2), ForKind::kThreadIdxX}) ||
        !state_.Try(Unroll{LevelKey(chunk, 1)}) || !state_.Try(Vectorize{OfParts(lanes_)})) {
      return false;
    }
    std::vector<LoopRef> blocks;
    for (const LoopRef& row : rows) blocks.push_back(OfParts(row));
    return state_.Try(Bind{parts, ForKind::kBlockIdxX}) && BindRows(blocks, ForKind::kBlockIdxY);
  }

  bool AddParts(const std::vector<LoopRef>& rows) {
    LoopRef parts = LevelKey(row_loop_, 0);
    Expr threads =
        state_.Size(LevelKey(parts, 1), max_threads_, PowersOfTwo(32, 1024), kBlockThreads);
    return state_.Try(DecomposeReduction{name_, parts}) && state_.Try(Split{parts, {threads}}) &&
           state_.Try(Bind{LevelKey(parts, 1), ForKind::kThreadIdxX}) &&
           BindRows(rows, ForKind::kBlockIdxX);
  }

  bool BindRows(const std::vector<LoopRef>& rows, ForKind kind) {
    if (rows.empty()) return true;
    LoopRef loop = rows[0];
    for (size_t i = 1; i < rows.size(); ++i) {
      if (!state_.Try(Fuse{loop, rows[i]})) return false;
      loop = FusedKey(loop, rows[i]);
    }
    return state_.Try(Bind{loop, kind});
  }

  SketchState state_;
  std::string name_, part_;
  int64_t busy_blocks_, max_threads_, results_ = 1, row_ = 1;
  LoopRef row_loop_, lanes_;
};

}  // namespace

std::optional<SketchState> ScheduleLongRows(const SketchState& state, const Block& block,
                                            const Target& target) {
  if (!IsRowReduction(state.fn(), block) || HasReuse(block)) return std::nullopt;
  return LongRows(state, block, target).Build(block);
}

}  // namespace tcc
