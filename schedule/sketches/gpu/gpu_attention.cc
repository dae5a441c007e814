#include "schedule/sketches/gpu/gpu_rules.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/sketches/gpu/attention_tile.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/attention_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/software_pipeline.h"
#include "schedule/steps/split.h"
#include "schedule/steps/transform_layout.h"

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

// Returns the dimension of the operand that the block indexes with the variable.
std::optional<size_t> DimensionAlong(const Block& block, const std::string& operand,
                                     const std::string& axis) {
  for (const Access& read : ReadsOf(block)) {
    if (read.buffer->name != operand) continue;
    for (size_t d = 0; d < read.indices.size(); ++d) {
      for (const IterVar& iter : block.iters) {
        if (iter.var->name == axis && UsesVar(read.indices[d], iter.var)) return d;
      }
    }
  }
  return std::nullopt;
}

class TiledAttention {
 public:
  TiledAttention(const SketchState& state, AttentionParts parts, Operands operands,
                 const Target& target)
      : original_(state),
        state_(state),
        p_(std::move(parts)),
        o_(std::move(operands)),
        target_(target) {}

  std::optional<SketchState> Build() && {
    ChooseSizes();
    PlaceCore();
    PlaceScores();
    StageOperands();
    ReduceRows();
    UnrollRegisters();
    Pipeline();
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
  int64_t ExtentOfAxis(const std::string& block, const std::string& axis) const {
    for (const IterVar& iter : BlockNamed(block)->iters) {
      if (iter.var->name == axis) return AsConstant(iter.domain).value_or(1);
    }
    return 1;
  }

  void ChooseSizes() {
    depth_ = ExtentOfAxis(p_.scores, p_.scores_e);
    int64_t heads = 1;
    Ref<Block> out = BlockNamed(p_.out);
    for (size_t i = 0; i < out->iters.size(); ++i) {
      const std::string& name = out->iters[i].var->name;
      if (name != p_.out_i && name != p_.out_d) heads *= ExtentOf(*out, i);
    }
    start_ = ChooseAttentionTile({.heads = heads,
                                  .queries = p_.queries,
                                  .keys = p_.keys,
                                  .depth = depth_,
                                  .width = p_.width},
                                 target_);
    LoopRef i = Key(p_.out, p_.out_i), d = Key(p_.out, p_.out_d), t = Key(p_.core, p_.t);
    lanes_ =
        state_.Size(LevelKey(d, 1), Target::kWarp, PowersOfTwo(8, Target::kWarp), start_.lanes);
    groups_ = state_.Size(LevelKey(i, 1), kMaxAttentionThreads / 8,
                          PowersOfTwo(1, kMaxAttentionThreads / 8), start_.groups);
    rows_ = state_.Size(LevelKey(i, 2), kMaxAttentionRows, PowersOfTwo(1, kMaxAttentionRows),
                        start_.rows);
    columns_ = state_.Size(LevelKey(d, 2), kMaxAttentionColumns,
                           PowersOfTwo(1, kMaxAttentionColumns), start_.columns);
    keys_ = state_.Size(LevelKey(t, 2), kMaxAttentionKeys, {}, start_.keys);
  }

  void PlaceCore() {
    LoopRef i = Key(p_.out, p_.out_i), d = Key(p_.out, p_.out_d), t = Key(p_.core, p_.t);
    std::vector<std::string> results;
    for (const Access& output : BlockNamed(p_.core)->body.as<Reduce>()->outputs) {
      results.push_back(output.buffer->name);
    }
    Try(Split{i, {groups_, rows_}});
    Try(Split{d, {lanes_, columns_}});
    std::vector<LoopRef> blocks = p_.out_others;
    blocks.insert(blocks.end(), {LevelKey(i, 0), LevelKey(d, 0)});
    std::vector<LoopRef> order = blocks;
    order.insert(order.end(), {LevelKey(i, 1), LevelKey(d, 1), LevelKey(i, 2), LevelKey(d, 2)});
    Try(Reorder{order});
    if (failed_) return;
    block_loop_ = FuseAll(state_, blocks);
    Try(Bind{block_loop_, ForKind::kBlockIdxX});
    thread_loop_ = LevelKey(d, 1);
    BindThreads(LevelKey(i, 1), thread_loop_);
    for (const std::string& result : results) Try(SetScope{result, Scope::kLocal});
    Try(ComputeAt{p_.core, thread_loop_});
    Try(Split{t, {lanes_ * keys_}});
    tile_loop_ = LevelKey(t, 0);
    Try(Reorder{{Key(p_.core, p_.d), tile_loop_, Key(p_.core, p_.i), LevelKey(t, 1)}});
    tile_ = p_.core + ".tile";
    Try(RFactorTile{p_.core, tile_loop_, TileForm::kDirect, Scope::kLocal, tile_});
    // Every thread of a row reads the powers of all its keys.
    if (!failed_) Try(SetScope{tile_ + ".map0", Scope::kShared});
  }

  void BindThreads(const LoopRef& group, const LoopRef& lane) {
    Try(Bind{group, ForKind::kThreadIdxY});
    Try(Bind{lane, ForKind::kThreadIdxX});
  }

  // Deals the scores of the tile to all threads, rows x keys each, which are registers until the
  // logits are in shared memory.
  void PlaceScores() {
    if (failed_) return;
    LoopRef i = Key(p_.logits, p_.logits_i), t = Key(p_.logits, p_.logits_t);
    Try(SetScope{ResultOf(p_.logits), Scope::kShared});
    Try(ComputeAt{p_.logits, tile_loop_});
    Try(Split{i, {rows_}});
    Try(Split{t, {keys_}});
    Try(Reorder{{LevelKey(i, 0), LevelKey(t, 0), LevelKey(i, 1), LevelKey(t, 1)}});
    BindThreads(LevelKey(i, 0), LevelKey(t, 0));
    Try(SetScope{ResultOf(p_.scores), Scope::kLocal});
    Try(ComputeAt{p_.scores, LevelKey(t, 0)});
    LoopRef e = Key(p_.scores, p_.scores_e);
    Expr steps = state_.Size(LevelKey(e, 1), std::min<int64_t>(depth_, 2 * kAttentionSteps), {},
                             kAttentionSteps);
    Try(Split{e, {steps}});
    Try(Reorder{{LevelKey(e, 0), LevelKey(e, 1), Key(p_.scores, p_.scores_i),
                 Key(p_.scores, p_.scores_t)}});
    Try(DecomposeReduction{p_.scores, LevelKey(e, 0)});
    Try(Unroll{LevelKey(e, 1)});
  }

  // Stages queries once, and keys and values per tile. A thread reads vectors along the depth of
  // its queries and keys, and along the columns of its values.
  void StageOperands() {
    if (failed_) return;
    Expr row(StagedRow(depth_));
    StageRows(o_.queries, p_.scores, block_loop_, {p_.scores_i, p_.scores_e}, {Expr(1), row});
    StageRows(o_.keys, p_.scores, tile_loop_, {p_.scores_t, p_.scores_e}, {keys_, row});
    const auto* sum = failed_ ? nullptr : BlockNamed(tile_ + ".2")->body.as<Reduce>();
    std::string values = sum ? ValuesOf(*sum) : "";
    if (values.empty()) return Fail();
    StageColumns(values, tile_ + ".2");
  }
  void Fail() { failed_ = true; }

  // The axes of a reader along the rows and the columns of an operand, and the factors by which
  // dimensions are blocked.
  struct Axes {
    std::string row, column;
  };
  struct Factors {
    Expr row, column;
  };

  // Stages rows of cells. Rows that a thread reads one after the other lie as far apart as
  // possible: neighbouring threads read neighbouring rows.
  void StageRows(const std::string& operand, const std::string& reader, const LoopRef& loop,
                 const Axes& axes, const Factors& factors) {
    if (failed_) return;
    std::optional<size_t> row = DimensionAlong(*BlockNamed(reader), operand, axes.row);
    std::optional<size_t> column = DimensionAlong(*BlockNamed(reader), operand, axes.column);
    if (!row || !column || row == column) return Fail();
    std::string buffer = Fetch(operand, reader, loop, *column);
    if (failed_) return;
    int rank = static_cast<int>(BufferNamed(state_.fn(), buffer).value().rank());
    std::vector<int64_t> order = DimensionsBut(rank, *row, *column);
    order.insert(order.end(),
                 {rank, static_cast<int64_t>(*row), static_cast<int64_t>(*column), rank + 1});
    Try(TransformLayout{
        buffer,
        {{static_cast<int>(*row), factors.row}, {static_cast<int>(*column), factors.column}},
        order});
  }

  // Stages the values of a tile of keys. The vectors of a thread lie as far apart as possible:
  // neighbouring threads read neighbouring vectors.
  void StageColumns(const std::string& values, const std::string& reader) {
    std::optional<size_t> row = DimensionAlong(*BlockNamed(reader), values, p_.t);
    std::optional<size_t> column = DimensionAlong(*BlockNamed(reader), values, p_.d);
    if (!row || !column || row == column) return Fail();
    std::string buffer = Fetch(values, reader, tile_loop_, *column);
    if (failed_) return;
    int rank = static_cast<int>(BufferNamed(state_.fn(), buffer).value().rank());
    std::vector<int64_t> order = DimensionsBut(rank, *row, *column);
    order.insert(order.end(),
                 {static_cast<int64_t>(*row), rank, static_cast<int64_t>(*column), rank + 1});
    Try(TransformLayout{
        buffer,
        {{static_cast<int>(*column), columns_}, {rank, MinOf(columns_, Expr(kAttentionSteps))}},
        order});
  }

  static std::vector<int64_t> DimensionsBut(int rank, size_t row, size_t column) {
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < rank; ++d) {
      if (d != static_cast<int64_t>(row) && d != static_cast<int64_t>(column)) dims.push_back(d);
    }
    return dims;
  }

  // Returns the map that computes keys for the scores alone and is not placed yet, or nullptr.
  const Block* KeysMap() const {
    Var keys = BufferNamed(state_.fn(), o_.keys).value().var;
    const Block* map = OnlyMapInto(state_.fn(), keys);
    bool own = map && !state_.IsDone(map->name) && OnlyReaderOf(state_.fn(), keys);
    return own ? map : nullptr;
  }

  // Returns the operand of the sum besides the powers.
  std::string ValuesOf(const Reduce& sum) const {
    std::string name;
    PreOrder(sum.inputs[0], [&](const Expr& node) {
      const auto* load = node.as<Load>();
      if (!load || load->indices.empty() || load->buffer->name == tile_ + ".map0") return;
      name = load->buffer->name;
    });
    return name;
  }

  // Fills a shared copy of the operand under `loop`, or the operand itself where a map computes it
  // for this reader. Returns the filled buffer. `column`: the dimension along which the reader
  // wants vectors.
  std::string Fetch(const std::string& operand, const std::string& reader, const LoopRef& loop,
                    size_t column) {
    const Block* map = operand == o_.keys ? KeysMap() : nullptr;
    std::string filler = map ? map->name : reader + "." + operand;
    std::string buffer = map ? operand : filler;
    if (map) {
      Try(SetScope{operand, Scope::kShared});
    } else {
      Try(CacheRead{operand, {reader}, Scope::kShared, filler});
    }
    Try(ComputeAt{filler, loop});
    if (failed_) return buffer;
    if (map) state_.MarkDone(filler);
    FetchTogether(filler, column);
    return buffer;
  }

  // Returns the axis along which the source of a filler is contiguous; "" if there is none.
  std::string ContiguousAxis(const Block& filler) const {
    for (const Access& read : ReadsOf(filler)) {
      for (const IterVar& iter : filler.iters) {
        bool wide = !IsConstant(iter.domain, 1);
        if (wide && StrideAlong(state_.fn(), read, iter.var) == 1) return iter.var->name;
      }
    }
    return "";
  }

  // Makes all threads fill the buffer. Neighbouring threads read contiguous cells of the source,
  // by vectors if those are also neighbours along `column`.
  void FetchTogether(const std::string& filler, size_t column) {
    Ref<Block> block = BlockNamed(filler);
    std::vector<LoopRef> loops = KeysOf(*block, ItersOf(*block, IterKind::kSpatial));
    std::string axis = ContiguousAxis(*block);
    const Expr cell = WritesOf(*block)[0].indices[column];
    auto last = std::ranges::find(loops, Key(filler, axis));
    if (last != loops.end()) std::rotate(last, last + 1, loops.end());
    Try(Reorder{loops});
    const auto* var = cell.as<VarNode>();
    if (var && var->name == axis) {
      LoopRef lanes = LevelKey(loops.back(), 1);
      Expr vector = state_.Size(lanes, 4, {DomainKind::kChoice, {1, 2, 4}},
                                CopyLanes(ExtentOfAxis(filler, axis)));
      Try(Split{loops.back(), {vector}});
      Try(Vectorize{lanes});
      loops.back() = LevelKey(loops.back(), 0);
    }
    if (failed_) return;
    LoopRef fused = FuseAll(state_, loops);
    Try(Split{fused, {groups_, lanes_}});
    BindThreads(LevelKey(fused, 1), LevelKey(fused, 2));
  }

  // Deals the keys of a row to the lanes of a part of a warp, which exchange maxima and sums.
  void ReduceRows() {
    for (const char* element : {".0", ".map0", ".1"}) {
      LoopRef t = tile_ + element + "/" + p_.t + ".1";
      Try(Split{t, {lanes_}});
      Try(Unroll{LevelKey(t, 0)});
      Try(Bind{LevelKey(t, 1), ForKind::kThreadIdxX});
    }
  }

  // Unrolls the loops around registers, which have no addresses: every index must be a constant.
  void UnrollRegisters() {
    std::string sums = tile_ + ".2";
    LoopRef t = sums + "/" + p_.t + ".1", i = "/" + p_.i, d = "/" + p_.d;
    Expr steps = state_.Size(LevelKey(t, 1), 2 * kAttentionSteps, {}, kAttentionSteps);
    Try(Split{t, {steps}});
    Try(Reorder{{LevelKey(t, 0), LevelKey(t, 1), sums + i, sums + d}});
    Try(Unroll{LevelKey(t, 1)});
    for (const std::string& block : {p_.scores, p_.scores + ".init"}) {
      Try(Unroll{Key(block, p_.scores_i)});
      Try(Unroll{Key(block, p_.scores_t)});
    }
    Try(Unroll{LevelKey(Key(p_.logits, p_.logits_i), 1)});
    Try(Unroll{LevelKey(Key(p_.logits, p_.logits_t), 1)});
    for (const char* element : {".0", ".0.init", ".map0", ".1", ".1.init"}) {
      Try(Unroll{tile_ + element + i});
    }
    for (const char* block : {".0", ".0.init"}) Try(Unroll{p_.core + block + i});
    for (const std::string& block : {sums, sums + ".init", p_.core, p_.core + ".init"}) {
      Try(Unroll{block + i});
      Try(Unroll{block + d});
    }
    Try(Unroll{LevelKey(Key(p_.out, p_.out_i), 2)});
    Try(Unroll{LevelKey(Key(p_.out, p_.out_d), 2)});
  }

  // Fetches keys and values of the next tile while this one is computed.
  void Pipeline() {
    bool async = target_.sm >= kAsyncCopies;
    Expr stages =
        state_.Size(tile_loop_ + ".stages", 2, {DomainKind::kChoice, {1, 2}}, start_.stages);
    Try(SoftwarePipeline{tile_loop_, stages,
                         async ? ForKind::kPipelinedAsync : ForKind::kPipelined});
  }

  const SketchState& original_;
  SketchState state_;
  AttentionParts p_;
  Operands o_;
  const Target& target_;
  int64_t depth_ = 1;
  AttentionTile start_;
  bool failed_ = false;
  // The sizes of AttentionTile.
  Expr lanes_, groups_, rows_, keys_, columns_;
  LoopRef block_loop_, thread_loop_, tile_loop_;
  std::string tile_;  // the prefix of the names of the tile's blocks
};

}  // namespace

std::optional<SketchState> ScheduleTiledAttention(const SketchState& state, const Block& block,
                                                  const Target& target) {
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
    TiledAttention attention(state, *std::move(parts), *operands, target);
    if (auto done = std::move(attention).Build()) return done;
  }
  return std::nullopt;
}

}  // namespace tcc
