#include "schedule/sketches/gpu/gpu_rules.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/attention_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/split.h"
#include "schedule/steps/storage_align.h"

namespace tcc {
namespace {

// The operands of the scores: one has the queries' axis, the other the keys'.
struct Operands {
  std::string queries, keys;  // buffers
};

std::optional<Operands> OperandsOf(const Block& scores, const AttentionParts& parts) {
  Operands operands;
  for (const Access& read : ReadsOf(scores)) {
    auto has = [&](const std::string& name) {
      return std::ranges::any_of(scores.iters, [&](const IterVar& iter) {
        return iter.var->name == name && std::ranges::any_of(read.indices, [&](const Expr& index) {
                 return UsesVar(index, iter.var);
               });
      });
    };
    if (read.buffer->name == WritesOf(scores)[0].buffer->name) continue;
    bool of_query = has(parts.scores_i), of_key = has(parts.scores_t);
    if (of_query == of_key) return std::nullopt;
    (of_query ? operands.queries : operands.keys) = read.buffer->name;
  }
  bool both = !operands.queries.empty() && !operands.keys.empty();
  return both && operands.queries != operands.keys ? std::optional<Operands>(operands)
                                                   : std::nullopt;
}

// Returns the variable along which a block's operand is contiguous: the last index of its first
// read; "" if that is no variable.
std::string ContiguousAxis(const Block& block) {
  for (const Access& read : ReadsOf(block)) {
    if (read.indices.empty()) continue;
    for (const IterVar& iter : block.iters) {
      if (read.indices.back().same_as(iter.var)) return iter.var->name;
    }
  }
  return "";
}

class ThreadAttention {
 public:
  ThreadAttention(const SketchState& state, AttentionParts parts, Operands operands)
      : original_(state), state_(state), p_(std::move(parts)), o_(std::move(operands)) {}

  std::optional<SketchState> Build() && {
    PlaceCore();
    PlaceScores();
    StageOperands();
    UnrollRegisters();
    if (failed_) return std::nullopt;
    for (const Ref<Block>& block : BlocksOf(state_.fn().body)) {
      bool made = !IsBlockName(original_.fn(), block->name);
      if (made || IsPart(block->name)) state_.MarkDone(block->name);
    }
    return state_;
  }

 private:
  bool IsPart(const std::string& name) const {
    return name == p_.core || name == p_.logits || name == p_.scores || name == p_.out;
  }
  // Applies the step, unless it or an earlier one is refused.
  void Try(const Step& step) { failed_ = failed_ || !state_.Try(step); }
  static LoopRef Key(const std::string& block, const std::string& axis) {
    return block + "/" + axis;
  }
  Ref<Block> BlockNamed(const std::string& name) const {
    return BlockAt(FindBlock(state_.fn(), name).value());
  }
  // Returns the buffer that the block writes.
  std::string ResultOf(const std::string& block) const {
    return WritesOf(*BlockNamed(block))[0].buffer->name;
  }

  void PlaceCore() {
    LoopRef i = Key(p_.out, p_.out_i), d = Key(p_.out, p_.out_d), t = Key(p_.core, p_.t);
    int64_t most_rows =
        std::max<int64_t>(32, std::min(kMaxAttentionRows, (p_.queries + 31) / 32 * 32));
    Expr rows =
        state_.Size(LevelKey(i, 1), most_rows, {DomainKind::kMultiples, {32}}, kAttentionRows);
    Expr slice =
        state_.Size(LevelKey(d, 1), std::min(p_.width, kMaxAttentionSlice), {}, kAttentionSlice);
    Expr keys =
        state_.Size(LevelKey(t, 1), std::min(p_.keys, kMaxAttentionKeys), {}, kAttentionKeys);
    std::vector<std::string> results;
    for (const Access& output : BlockNamed(p_.core)->body.as<Reduce>()->outputs) {
      results.push_back(output.buffer->name);
    }
    Try(Split{i, {rows}});
    Try(Split{d, {slice}});
    std::vector<LoopRef> blocks = p_.out_others;
    blocks.push_back(LevelKey(i, 0));
    std::vector<LoopRef> order = blocks;
    thread_loops_ = {LevelKey(i, 1), LevelKey(d, 0)};
    order.insert(order.end(), {thread_loops_[0], thread_loops_[1], LevelKey(d, 1)});
    Try(Reorder{order});
    if (failed_) return;
    block_loop_ = FuseAll(state_, blocks);
    for (const LoopRef& loop : thread_loops_) {
      thread_extents_.push_back(LoopAt(FindLoop(state_.fn(), loop).value())->extent);
    }
    Try(Bind{block_loop_, ForKind::kBlockIdxX});
    BindThreads(thread_loops_[0], thread_loops_[1]);
    for (const std::string& result : results) Try(SetScope{result, Scope::kLocal});
    Try(ComputeAt{p_.core, thread_loops_[1]});
    Try(Split{t, {keys}});
    tile_loop_ = LevelKey(t, 0);
    Try(Reorder{{Key(p_.core, p_.d), tile_loop_, Key(p_.core, p_.i), LevelKey(t, 1)}});
    tile_ = p_.core + ".tile";
    Try(RFactorTile{p_.core, tile_loop_, TileForm::kDirect, Scope::kLocal, tile_});
  }

  void BindThreads(const LoopRef& x, const LoopRef& y) {
    Try(Bind{x, ForKind::kThreadIdxX});
    Try(Bind{y, ForKind::kThreadIdxY});
  }

  void PlaceScores() {
    for (const std::string& block : {p_.logits, p_.scores}) {
      if (failed_) return;
      Try(SetScope{ResultOf(block), Scope::kLocal});
      Try(ComputeAt{block, tile_loop_});
    }
    LoopRef e = Key(p_.scores, p_.scores_e);
    int64_t depth = ExtentOfAxis(p_.scores, p_.scores_e);
    Expr steps = state_.Size(LevelKey(e, 1), std::min<int64_t>(depth, 8), {}, kAttentionSteps);
    Try(Split{e, {steps}});
    LoopRef i = Key(p_.scores, p_.scores_i), t = Key(p_.scores, p_.scores_t);
    Try(Reorder{{LevelKey(e, 0), LevelKey(e, 1), i, t}});
    Try(DecomposeReduction{p_.scores, LevelKey(e, 0)});
    Try(Unroll{LevelKey(e, 1)});
  }

  int64_t ExtentOfAxis(const std::string& block, const std::string& axis) const {
    for (const IterVar& iter : BlockNamed(block)->iters) {
      if (iter.var->name == axis) return AsConstant(iter.domain).value_or(1);
    }
    return 1;
  }

  // Stages queries once, and keys and values per tile. The threads of a warp have different queries
  // and read them at the same column, so that the rows must begin in different banks.
  void StageOperands() {
    std::string queries = Fetch(o_.queries, p_.scores, block_loop_, false);
    AlignRows(queries, 32, 1);
    const Block* map = failed_ ? nullptr : KeysMap();
    if (map) {
      std::string name = map->name;
      Try(SetScope{o_.keys, Scope::kShared});
      Try(ComputeAt{name, tile_loop_});
      if (!failed_) FetchTogether(name, false);
      if (!failed_) state_.MarkDone(name);
      // Columns of the source become rows.
      AlignRows(o_.keys, 8, 4);
    } else {
      Fetch(o_.keys, p_.scores, tile_loop_, true);
    }
    const auto* sum = failed_ ? nullptr : BlockNamed(tile_ + ".2")->body.as<Reduce>();
    std::string values = sum ? ValuesOf(*sum) : "";
    if (!values.empty()) Fetch(values, tile_ + ".2", tile_loop_, true);
  }

  // Returns the map that computes keys for the scores alone and is not placed yet, or nullptr.
  const Block* KeysMap() const {
    Var keys = BufferNamed(state_.fn(), o_.keys).value().var;
    const Block* map = OnlyMapInto(state_.fn(), keys);
    bool own = map && !state_.IsDone(map->name) && OnlyReaderOf(state_.fn(), keys);
    return own ? map : nullptr;
  }

  // Returns the operand of the sum besides the powers, which are in registers.
  std::string ValuesOf(const Reduce& sum) const {
    std::string name;
    PreOrder(sum.inputs[0], [&](const Expr& node) {
      const auto* load = node.as<Load>();
      if (!load || load->indices.empty()) return;
      if (BufferNamed(state_.fn(), load->buffer->name).value().scope == Scope::kLocal) return;
      name = load->buffer->name;
    });
    return name;
  }

  // Copies the buffer to shared memory under `loop`. Returns the copy's name.
  std::string Fetch(const std::string& buffer, const std::string& reader, const LoopRef& loop,
                    bool by_vectors) {
    std::string copy = reader + "." + buffer;
    Try(CacheRead{buffer, {reader}, Scope::kShared, copy});
    Try(ComputeAt{copy, loop});
    if (!failed_) FetchTogether(copy, by_vectors);
    return copy;
  }

  // Makes all threads fill the buffer; neighbouring threads read contiguous cells of the source.
  void FetchTogether(const std::string& filler, bool by_vectors) {
    Ref<Block> block = BlockNamed(filler);
    std::vector<LoopRef> loops = KeysOf(*block, ItersOf(*block, IterKind::kSpatial));
    LoopRef inner = Key(filler, ContiguousAxis(*block));
    auto last = std::ranges::find(loops, inner);
    if (last != loops.end()) std::rotate(last, last + 1, loops.end());
    Try(Reorder{loops});
    if (by_vectors) {
      LoopRef lanes = LevelKey(loops.back(), 1);
      Expr vector = state_.Size(lanes, 4, {DomainKind::kChoice, {1, 2, 4}}, 4);
      Try(Split{loops.back(), {vector}});
      Try(Vectorize{lanes});
      loops.back() = LevelKey(loops.back(), 0);
    }
    if (failed_) return;
    LoopRef fused = FuseAll(state_, loops);
    Try(Split{fused, {thread_extents_[1], thread_extents_[0]}});
    BindThreads(LevelKey(fused, 2), LevelKey(fused, 1));
  }

  void AlignRows(const std::string& buffer, int64_t factor, int64_t offset) {
    if (failed_) return;
    auto rank = static_cast<int64_t>(BufferNamed(state_.fn(), buffer).value().rank());
    if (rank >= 2) Try(StorageAlign{buffer, rank - 2, Expr(factor), Expr(offset)});
  }

  // Unrolls the loops around registers, which have no addresses: every index must be a constant.
  void UnrollRegisters() {
    std::string last = tile_ + ".2";
    LoopRef t = "/" + p_.t + ".1", d = "/" + p_.d;
    for (const std::string& block : {p_.scores, p_.scores + ".init"}) {
      Try(Unroll{Key(block, p_.scores_t)});
    }
    Try(Unroll{Key(p_.logits, p_.logits_t)});
    for (const char* element : {".0", ".map0", ".1", ".2"}) Try(Unroll{tile_ + element + t});
    for (const std::string& block : {last, last + ".init", p_.core, p_.core + ".init"}) {
      Try(Unroll{block + d});
    }
    Try(Unroll{LevelKey(Key(p_.out, p_.out_d), 1)});
  }

  const SketchState& original_;
  SketchState state_;
  AttentionParts p_;
  Operands o_;
  bool failed_ = false;
  LoopRef block_loop_, tile_loop_;
  std::vector<LoopRef> thread_loops_;  // along x and y
  std::vector<Expr> thread_extents_;
  std::string tile_;  // the prefix of the names of the tile's blocks
};

}  // namespace

std::optional<SketchState> ScheduleThreadAttention(const SketchState& state, const Block& block) {
  const Function& fn = state.fn();
  for (const Ref<Block>& core : BlocksOf(fn.body)) {
    if (state.IsDone(core->name) || !IsAttentionCore(*core)) continue;
    std::optional<AttentionParts> parts = FindAttentionParts(fn, *core);
    if (!parts || state.IsDone(parts->scores) || state.IsDone(parts->logits)) continue;
    std::optional<Operands> operands =
        OperandsOf(*BlockAt(FindBlock(fn, parts->scores).value()), *parts);
    if (!operands) continue;
    const Block* map = OnlyMapInto(fn, BufferNamed(fn, operands->keys).value().var);
    bool own = block.name == parts->core || block.name == parts->scores ||
               block.name == parts->logits || block.name == parts->out ||
               (map && map->name == block.name);
    if (!own) continue;
    if (auto done = ThreadAttention(state, *std::move(parts), *operands).Build()) return done;
  }
  return std::nullopt;
}

}  // namespace tcc
