#include "schedule/sketches/cpu/cpu_rules.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/placement.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/parts/attention_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/lane_reduction.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The sizes to start from.
struct AttentionTile {
  int64_t rows = 1;       // of queries
  int64_t keys = 1;       // whose logits are kept together
  int64_t registers = 1;  // vectors of a panel of keys, and of values
  int64_t lanes = 1;
};

class FlashAttention {
 public:
  FlashAttention(const SketchState& state, AttentionParts parts, const Target& target)
      : original_(state), state_(state), p_(std::move(parts)) {
    Ref<Block> core = BlockAt(FindBlock(state.fn(), p_.core).value());
    DType dtype = WritesOf(*core)[0].buffer.dtype();
    start_.lanes = std::max(target.vector_bytes / WholeBytes(dtype), 1);
    ChooseRegisters(target);
    start_.keys = CeilDivision(p_.keys, CeilDivision(p_.keys, kAttentionTileKeys));
    FreeSizes();
  }

  std::optional<SketchState> Build(int64_t work) {
    PlaceCore();
    PlaceScores();
    FillScores();
    FillTile();
    FillCombination();
    if (work >= kParallelWork && !failed_) {
      std::vector<LoopRef> loops = p_.out_others;
      loops.push_back(p_.out + "/" + p_.out_i + ".0");
      Try(Parallel{FuseAll(state_, loops)});
    }
    if (failed_) return std::nullopt;
    for (const Ref<Block>& block : BlocksOf(state_.fn().body)) {
      bool made = !IsBlockName(original_.fn(), block->name);
      bool part = block->name == p_.core || block->name == p_.logits || block->name == p_.scores ||
                  block->name == p_.out;
      if (made || part) state_.MarkDone(block->name);
    }
    return state_;
  }

 private:
  // Chooses the registers of a row and the number of rows that multiply most per loaded vector; the
  // registers of values divide the row.
  void ChooseRegisters(const Target& target) {
    int64_t vectors = std::max<int64_t>(CeilDivision(p_.width, start_.lanes), 1);
    double best = 0;
    for (int64_t registers = 1; registers <= std::min(vectors, kMaxAttentionVectors); ++registers) {
      int64_t rows = std::max<int64_t>((target.vector_registers - registers - 1) / registers, 1);
      double products =
          static_cast<double>(rows * registers) / static_cast<double>(rows + registers);
      if (vectors % registers != 0 || products <= best) continue;
      best = products;
      start_.registers = registers;
      start_.rows = CeilDivision(p_.queries, CeilDivision(p_.queries, rows));
    }
  }

  // Applies the step, unless it or an earlier one is refused.
  void Try(const Step& step) { failed_ = failed_ || !state_.Try(step); }
  LoopRef Key(const std::string& block, const std::string& axis) const {
    return block + "/" + axis;
  }

  void FreeSizes() {
    LoopRef queries = Key(p_.out, p_.out_i);
    LoopRef keys = Key(p_.core, p_.t);
    LoopRef panel = Key(p_.logits, p_.logits_t);
    rows_ = state_.Size(LevelKey(queries, 1), std::min(p_.queries, kMaxTileRows), {}, start_.rows);
    keys_ = state_.Size(LevelKey(keys, 1), p_.keys, {}, start_.keys);
    registers_ = state_.Size(LevelKey(panel, 1), kMaxAttentionVectors, {}, start_.registers);
    lanes_ =
        state_.Size(LevelKey(panel, 2), start_.lanes, PowersOfTwo(1, start_.lanes), start_.lanes);
  }

  void PlaceCore() {
    LoopRef i = Key(p_.out, p_.out_i);
    LoopRef d = Key(p_.out, p_.out_d);
    Try(Split{i, {rows_}});
    std::vector<LoopRef> order = p_.out_others;
    for (const LoopRef& loop : {i + ".0", i + ".1", d}) order.push_back(loop);
    Try(Reorder{order});
    Try(ComputeAt{p_.core, i + ".0"});
    LoopRef t = Key(p_.core, p_.t);
    Try(Split{t, {keys_}});
    Try(Reorder{{Key(p_.core, p_.d), t + ".0", Key(p_.core, p_.i), t + ".1"}});
    Try(RFactorTile{p_.core, t + ".0", TileForm::kDirect, Scope::kGlobal,
                    tile_ = p_.core + ".tile"});
    last_ = tile_ + ".2";
  }

  // Panels of keys: the scores of one are a register tile, which the logits' map reads at once.
  void PlaceScores() {
    LoopRef tile = Key(p_.core, p_.t) + ".0";
    LoopRef t = Key(p_.logits, p_.logits_t);
    Try(ComputeAt{p_.logits, tile});
    Try(Split{t, {registers_, lanes_}});
    Try(Reorder{{t + ".0", Key(p_.logits, p_.logits_i), t + ".1", t + ".2"}});
    Try(ComputeAt{p_.scores, t + ".0"});
    if (failed_) return;
    Ref<Block> scores = BlockAt(FindBlock(state_.fn(), p_.scores).value());
    Try(SetScope{WritesOf(*scores)[0].buffer->name, Scope::kLocal});
    Try(Unroll{Key(p_.logits, p_.logits_i)});
    Try(Unroll{t + ".1"});
    Try(Vectorize{t + ".2"});
    // Known panels have no masks, and a tile that is never masked stays in registers.
    if (CeilDivision(start_.keys, start_.registers * start_.lanes) <= kMaxUnrolledPanels)
      Try(Unroll{t + ".0"});
  }

  void FillScores() {
    LoopRef t = Key(p_.scores, p_.scores_t);
    LoopRef e = Key(p_.scores, p_.scores_e);
    LoopRef i = Key(p_.scores, p_.scores_i);
    Try(Split{t, {lanes_}});
    Try(Reorder{{e, i, t + ".0", t + ".1"}});
    Try(DecomposeReduction{p_.scores, e});
    for (const std::string& name : {p_.scores, p_.scores + ".init"}) {
      Try(Unroll{Key(name, p_.scores_i)});
      Try(Unroll{Key(name, p_.scores_t) + ".0"});
      Try(Vectorize{Key(name, p_.scores_t) + ".1"});
    }
  }

  // The tile's maximum, powers and their sums.
  void FillTile() {
    for (const char* element : {".0", ".1"}) {
      std::string block = tile_ + element;
      LoopRef loop = Key(block, p_.t) + ".1";
      Try(Unroll{Key(block, p_.i)});
      failed_ = failed_ || !ReduceInLanes(state_, {block, loop, start_.keys, start_.lanes});
    }
    LoopRef power = Key(tile_ + ".map0", p_.t) + ".1";
    Try(Split{power, {lanes_}});
    Try(Vectorize{power + ".1"});
  }

  // Panels of values: the sums of one are a register tile, which the combination reads at once. All
  // panels' sums together would not fit the registers.
  void FillCombination() {
    LoopRef d = Key(p_.core, p_.d);
    LoopRef i = Key(p_.core, p_.i);
    Try(Vectorize{Key(p_.core + ".0", p_.i)});
    Try(Split{d, {registers_, lanes_}});
    Try(Reorder{{d + ".0", i, d + ".1", d + ".2"}});
    Try(ComputeAt{last_, d + ".0"});
    Try(SetScope{last_, Scope::kLocal});
    for (const std::string& name : {last_, last_ + ".init"}) Try(Split{Key(name, p_.d), {lanes_}});
    Try(Reorder{
        {Key(last_, p_.t), Key(last_, p_.i), Key(last_, p_.d) + ".0", Key(last_, p_.d) + ".1"}});
    for (const std::string& name : {last_, last_ + ".init"}) {
      Try(Unroll{Key(name, p_.i)});
      Try(Unroll{Key(name, p_.d) + ".0"});
      Try(Vectorize{Key(name, p_.d) + ".1"});
    }
    Try(Unroll{i});
    Try(Unroll{d + ".1"});
    Try(Vectorize{d + ".2"});
    for (const LoopRef& all : {Key(p_.core + ".init", p_.d), Key(p_.out, p_.out_d)}) {
      Try(Split{all, {lanes_}});
      Try(Vectorize{all + ".1"});
    }
  }

  const SketchState& original_;
  SketchState state_;
  AttentionParts p_;
  bool failed_ = false;
  AttentionTile start_;
  Expr rows_, keys_, registers_, lanes_;  // as AttentionTile says, free
  std::string tile_, last_;               // blocks of the tile's results
};

}  // namespace

std::optional<SketchState> ScheduleAttention(const SketchState& state, const Block& core,
                                             const Target& target) {
  if (!IsAttentionCore(core)) return std::nullopt;
  std::optional<AttentionParts> parts = FindAttentionParts(state.fn(), core);
  if (!parts) return std::nullopt;
  int64_t work = WorkOf(core);
  return FlashAttention(state, *std::move(parts), target).Build(work);
}

}  // namespace tcc
