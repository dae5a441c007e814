#include <algorithm>
#include <bit>
#include <numeric>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/attention_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/space/resources.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/compute_inline.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor_tile.h"
#include "schedule/steps/software_pipeline.h"
#include "schedule/steps/split.h"
#include "schedule/steps/storage_align.h"
#include "schedule/steps/tensorize.h"
#include "schedule/steps/transform_layout.h"
#include "support/device_profile.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Shapes of mma and ldmatrix, as PTX ISA gives them.
constexpr int64_t kTile = 16;    // rows, terms, and what ldmatrix loads in each direction
constexpr int64_t kColumns = 8;  // of an instruction's tile
// Lane 4 y + x holds columns 2 x and 2 x + 1 of rows y and y + 8 of a sum of 16 x 8.
constexpr int64_t kLaneRows = 8;
constexpr int64_t kLaneColumns = 4;
constexpr int64_t kNeighbours = 2;
constexpr int64_t kChunkBytes = 16;
constexpr int64_t kHalfBytes = 2;

int64_t Log2(int64_t power) {
  return std::countr_zero(static_cast<uint64_t>(power));
}

// The operands of the two products; each is computed by a map.
struct Operands {
  std::string queries, keys, values;
};

// The initial sizes: `warps` have 16 queries each, a tile of keys has `key_tiles` times 16.
struct Start {
  int64_t warps = 4;
  int64_t key_tiles = 4;
  int64_t stages = 2;
};

// The extents, and whether logits are held rather than computed where they are read.
struct Extents {
  int64_t queries = 1, keys = 1, depth = 1, width = 1;
  bool holds_queries() const { return depth <= kMaxHeldDepth; }
  bool holds_logits = false;
};

// Returns the registers that the buffers of a lane take: its sums, twice; scores, powers in both
// types and perhaps logits; fragments of operands, with the next steps' ones; a row's numbers.
int64_t RegistersOf(const Extents& extents, int64_t key_tiles) {
  constexpr int64_t kOfRows = 10;
  // The powers of 16 bits take a quarter of a register a key, other cells a half.
  int64_t cells = kTile * key_tiles / 4 * (extents.holds_logits ? 7 : 5);
  int64_t queries = extents.holds_queries() ? extents.depth / 4 : kTile / 2;
  return extents.width + cells + queries + kTile + kOfRows;
}

Start StartOf(const Extents& extents, const Target& target) {
  Start start;
  auto halve = [](int64_t& size, int64_t needed) {
    while (size > 1 && size / 2 >= needed) size /= 2;
  };
  halve(start.warps, CeilDivision(extents.queries, kTile));
  halve(start.key_tiles, CeilDivision(extents.keys, kTile));
  const int64_t most = target.limits.registers - kBookkeepingRegisters;
  while (start.key_tiles > 1 && RegistersOf(extents, start.key_tiles) > most) start.key_tiles /= 2;
  if (extents.keys <= kTile * start.key_tiles) start.stages = 1;
  return start;
}

// Returns the buffers of 16 bits that a sum of products reads; none if it reads others.
std::vector<std::string> FactorsOf(const Expr& value) {
  std::vector<std::string> names;
  bool narrow = value.as<Mul>() != nullptr;
  PreOrder(value, [&](const Expr& node) {
    const auto* load = node.as<Load>();
    if (!load) return;
    narrow = narrow && load->buffer.dtype().is_float() && load->buffer.dtype().bits() == 16;
    names.push_back(load->buffer->name);
  });
  return narrow && names.size() == 2 ? names : std::vector<std::string>();
}

class MmaAttention {
 public:
  MmaAttention(const SketchState& state, AttentionParts parts, Operands operands,
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
    MultiplyScores();
    MultiplyValues();
    DealToLanes();
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
    return name == p_.core || name == p_.logits || name == p_.scores || name == p_.out ||
           name == map_of_queries_ || name == map_of_keys_ || name == map_of_values_;
  }
  // Applies the step, unless it or an earlier one is refused.
  void Try(const Step& step) { failed_ = failed_ || !state_.Try(step); }
  static LoopRef Key(const std::string& block, const std::string& axis) {
    return block + "/" + axis;
  }
  Ref<Block> BlockNamed(const std::string& name) const {
    return BlockAt(FindBlock(state_.fn(), name).value());
  }
  Buffer BufferOf(const std::string& name) const { return BufferNamed(state_.fn(), name).value(); }
  // Returns the extent of a dimension of the buffer, counted from the last one.
  int64_t ExtentAt(const std::string& buffer, size_t from_last) const {
    const Buffer found = BufferOf(buffer);
    return AsConstant(found.shape[found.rank() - 1 - from_last]).value_or(1);
  }

  void ChooseSizes() {
    map_of_queries_ = MapInto(o_.queries);
    map_of_keys_ = MapInto(o_.keys);
    map_of_values_ = MapInto(o_.values);
    if (failed_) return;
    type_ = BufferOf(o_.queries).dtype();
    // A mask would be read twice.
    extents_ = {.queries = p_.queries,
                .keys = p_.keys,
                .depth = ExtentAt(o_.queries, 0),
                .width = p_.width,
                .holds_logits = ReadsOf(*BlockNamed(p_.logits)).size() > 1};
    start_ = StartOf(extents_, target_);
    LoopRef i = Key(p_.out, p_.out_i), t = Key(p_.core, p_.t);
    // An instruction's tile may not be cut: blocks of queries and tiles of keys are whole.
    warps_ = WholeSize(LevelKey(i, 1), ExtentAt(o_.queries, 1) / kTile, kMaxAttentionWarps,
                       start_.warps);
    tiles_ = WholeSize(LevelKey(t, 1), ExtentAt(o_.keys, 1) / kTile, kMaxAttentionKeyTiles,
                       start_.key_tiles);
  }

  // Returns the map that computes the operand for one reader, which is not placed yet.
  std::string MapInto(const std::string& operand) {
    Var var = BufferOf(operand).var;
    const Block* map = OnlyMapInto(state_.fn(), var);
    failed_ = failed_ || !map || state_.IsDone(map->name) || !OnlyReaderOf(state_.fn(), var);
    return failed_ ? "" : map->name;
  }

  // A warp has a tile of 16 queries.
  void PlaceCore() {
    if (failed_) return;
    LoopRef i = Key(p_.out, p_.out_i), d = Key(p_.out, p_.out_d), t = Key(p_.core, p_.t);
    std::vector<std::string> results;
    for (const Access& output : BlockNamed(p_.core)->body.as<Reduce>()->outputs) {
      results.push_back(output.buffer->name);
    }
    Try(Split{i, {warps_, Expr(kTile / kLaneRows), Expr(kLaneRows)}});
    Try(Split{d, {Expr(kLaneColumns), Expr(kNeighbours)}});
    std::vector<LoopRef> blocks = p_.out_others;
    blocks.push_back(LevelKey(i, 0));
    std::vector<LoopRef> order = blocks;
    order.insert(order.end(), {LevelKey(i, 1), LevelKey(i, 2), LevelKey(d, 0), LevelKey(i, 3),
                               LevelKey(d, 1), LevelKey(d, 2)});
    Try(Reorder{order});
    if (failed_) return;
    block_loop_ = FuseAll(state_, blocks);
    Try(Bind{block_loop_, ForKind::kBlockIdxX});
    warp_loop_ = LevelKey(i, 1);
    Try(Bind{warp_loop_, ForKind::kThreadIdxZ});
    for (const std::string& result : results) Try(SetScope{result, Scope::kLocal});
    if (!extents_.holds_logits) Try(ComputeInline{p_.logits});
    Try(ComputeAt{p_.core, warp_loop_});
    Try(Split{t, {tiles_ * Expr(kTile)}});
    tile_loop_ = LevelKey(t, 0);
    Try(Reorder{{Key(p_.core, p_.d), tile_loop_, Key(p_.core, p_.i), LevelKey(t, 1)}});
    tile_ = p_.core + ".tile";
    Try(RFactorTile{p_.core, tile_loop_, TileForm::kDirect, Scope::kLocal, tile_});
    for (const char* fragment : {".2", ".map1"}) Try(SetScope{tile_ + fragment, Scope::kWarp});
  }

  void PlaceScores() {
    if (failed_) return;
    if (extents_.holds_logits) {
      Try(SetScope{WritesOf(*BlockNamed(p_.logits))[0].buffer->name, Scope::kLocal});
      Try(ComputeAt{p_.logits, tile_loop_});
    }
    Try(SetScope{WritesOf(*BlockNamed(p_.scores))[0].buffer->name, Scope::kWarp});
    Try(ComputeAt{p_.scores, tile_loop_});
    LoopRef i = Key(p_.scores, p_.scores_i), t = Key(p_.scores, p_.scores_t),
            e = Key(p_.scores, p_.scores_e);
    Try(Split{t, {Expr(kTile / kColumns), Expr(kColumns)}});
    Try(Split{e, {Expr(kTile)}});
    Try(Reorder{
        {LevelKey(e, 0), LevelKey(t, 0), LevelKey(t, 1), i, LevelKey(t, 2), LevelKey(e, 1)}});
    Try(DecomposeReduction{p_.scores, LevelKey(e, 0)});
    LoopRef values = tile_ + ".2/" + p_.t + ".1", d = tile_ + ".2/" + p_.d;
    Try(Split{values, {Expr(kTile)}});
    Try(Split{d, {Expr(kTile / kColumns), Expr(kColumns)}});
    Try(Reorder{{LevelKey(values, 0), LevelKey(d, 0), LevelKey(d, 1), tile_ + ".2/" + p_.i,
                 LevelKey(d, 2), LevelKey(values, 1)}});
  }

  // Stages queries once, and keys and values per tile.
  void StageOperands() {
    const std::string sums = tile_ + ".2";
    const LoopRef steps = LevelKey(Key(p_.scores, p_.scores_e), 0);
    Stage(o_.queries, map_of_queries_, p_.scores, extents_.holds_queries() ? warp_loop_ : steps,
          block_loop_);
    Stage(o_.keys, map_of_keys_, p_.scores, LevelKey(Key(p_.scores, p_.scores_t), 0), tile_loop_);
    Stage(o_.values, map_of_values_, sums, LevelKey(Key(sums, p_.d), 0), tile_loop_);
  }

  // Makes all threads fill shared memory with the operand at `loop`, and a warp load fragments of
  // it at `fragments`.
  void Stage(const std::string& operand, const std::string& map, const std::string& reader,
             const LoopRef& fragments, const LoopRef& loop) {
    std::string tile = operand + ".tile";
    Try(SetScope{operand, Scope::kShared});
    Try(CacheRead{operand, {reader}, Scope::kWarp, tile});
    Try(ComputeAt{tile, fragments});
    Try(ComputeAt{map, loop});
    if (failed_) return;
    LayOut(operand);
    FillTogether(map);
    LoadFragments(tile);
  }

  // Lays out rows so that no rows of a matrix meet in a bank: panels of 128, 64 or 32 bytes of each
  // row, in which the number of a chunk of 16 bytes is XORed with that of its line of 128.
  void LayOut(const std::string& operand) {
    const auto rank = static_cast<int64_t>(BufferOf(operand).rank());
    const int64_t row = ExtentAt(operand, 0) * kHalfBytes;
    const int64_t panel = std::gcd(row, kPassBytes);
    std::vector<int64_t> order(static_cast<size_t>(rank - 2));
    std::iota(order.begin(), order.end(), 0);
    order.insert(order.end(), {rank - 1, rank - 2, rank});
    Try(TransformLayout{operand, {{static_cast<int>(rank - 1), Expr(panel / kHalfBytes)}}, order});
    Try(Swizzle{operand, Log2(panel / kChunkBytes), Log2(kChunkBytes / kHalfBytes),
                Log2(kPassBytes / kChunkBytes)});
  }

  void FillTogether(const std::string& map) {
    Ref<Block> block = BlockNamed(map);
    std::vector<LoopRef> loops = KeysOf(*block, ItersOf(*block, IterKind::kSpatial));
    // An operand that is narrowed on the way is read in vectors of its own width.
    int64_t widest = kHalfBytes;
    for (const Access& read : ReadsOf(*block)) {
      widest = std::max<int64_t>(widest, WholeBytes(read.buffer.dtype()));
    }
    Try(Split{loops.back(), {Expr(kChunkBytes / widest)}});
    Try(Vectorize{LevelKey(loops.back(), 1)});
    loops.back() = LevelKey(loops.back(), 0);
    if (failed_) return;
    LoopRef fused = FuseAll(state_, loops);
    Try(Split{fused, {warps_, Expr(kLaneRows), Expr(kLaneColumns)}});
    Try(Bind{LevelKey(fused, 1), ForKind::kThreadIdxZ});
    Try(Bind{LevelKey(fused, 2), ForKind::kThreadIdxY});
    Try(Bind{LevelKey(fused, 3), ForKind::kThreadIdxX});
    Try(Unroll{LevelKey(fused, 0)});
  }

  void LoadFragments(const std::string& tile) {
    const size_t rank = BufferOf(tile).rank();
    std::vector<LoopRef> order;
    for (size_t d = 0; d + 2 < rank; ++d) order.push_back(Key(tile, "ax" + std::to_string(d)));
    LoopRef rows = Key(tile, "ax" + std::to_string(rank - 2));
    LoopRef columns = Key(tile, "ax" + std::to_string(rank - 1));
    Try(Split{rows, {Expr(kTile)}});
    Try(Split{columns, {Expr(kTile)}});
    order.insert(order.end(), {LevelKey(rows, 0), LevelKey(columns, 0)});
    std::vector<LoopRef> unrolled = order;
    order.insert(order.end(), {LevelKey(rows, 1), LevelKey(columns, 1)});
    Try(Reorder{order});
    for (const LoopRef& loop : unrolled) Try(Unroll{loop});
    Try(Tensorize{LevelKey(rows, 1), "load_matrices_16x16_" + ToString(type_)});
  }

  std::string Mma() const { return "mma_m16n8k16_" + ToString(type_) + "_f32"; }

  void MultiplyScores() {
    LoopRef i = Key(p_.scores, p_.scores_i), t = Key(p_.scores, p_.scores_t);
    Try(Tensorize{i, Mma()});
    Try(Unroll{LevelKey(Key(p_.scores, p_.scores_e), 0)});
    for (size_t level : {0, 1}) Try(Unroll{LevelKey(t, level)});
  }

  void MultiplyValues() {
    const std::string sums = tile_ + ".2/";
    Try(Tensorize{sums + p_.i, Mma()});
    Try(Unroll{LevelKey(sums + p_.t + ".1", 0)});
    for (size_t level : {0, 1}) Try(Unroll{LevelKey(sums + p_.d, level)});
  }

  // Assigns the cells of each 16 x 8 to the lanes that hold them in a fragment. Loops `columns` are
  // over tiles, the last one over the 8 columns of one; none: there is one result a row.
  void Deal(const LoopRef& rows, const std::vector<LoopRef>& columns, bool vectors = false) {
    Try(Split{rows, {Expr(kLaneRows)}});
    LoopRef y = LevelKey(rows, 1), x, neighbours;
    std::vector<LoopRef> order = {LevelKey(rows, 0), y}, unrolled = {LevelKey(rows, 0)};
    if (!columns.empty()) {
      Try(Split{columns.back(), {Expr(kNeighbours)}});
      x = LevelKey(columns.back(), 0);
      neighbours = LevelKey(columns.back(), 1);
      order.insert(order.end(), columns.begin(), columns.end() - 1);
      unrolled.insert(unrolled.end(), columns.begin(), columns.end() - 1);
      order.insert(order.end(), {x, neighbours});
      Try(Reorder{order});
    }
    for (const LoopRef& loop : unrolled) Try(Unroll{loop});
    Try(Bind{y, ForKind::kThreadIdxY});
    if (columns.empty()) return;
    Try(Bind{x, ForKind::kThreadIdxX});
    Try(vectors ? Step(Vectorize{neighbours}) : Step(Unroll{neighbours}));
  }

  // Does the same for columns in one loop, whose tiles of 8 it splits off.
  void DealWhole(const LoopRef& rows, const LoopRef& columns, bool vectors = false) {
    Try(Split{columns, {Expr(kColumns)}});
    Deal(rows, {LevelKey(columns, 0), LevelKey(columns, 1)}, vectors);
  }

  void DealToLanes() {
    if (failed_) return;
    const std::string i = "/" + p_.i, d = "/" + p_.d, t = "/" + p_.t + ".1";
    LoopRef zeros = Key(p_.scores + ".init", p_.scores_t);
    Deal(Key(p_.scores + ".init", p_.scores_i),
         {LevelKey(zeros, 0), LevelKey(zeros, 1), LevelKey(zeros, 2)});
    if (extents_.holds_logits) {
      DealWhole(Key(p_.logits, p_.logits_i), Key(p_.logits, p_.logits_t));
    }
    for (const char* element : {".0", ".map0", ".1"}) {
      DealWhole(tile_ + element + i, tile_ + element + t);
    }
    // The halves of a word are stored together.
    DealWhole(tile_ + ".map1" + i, tile_ + ".map1" + t, true);
    for (const std::string& sums : {tile_ + ".2.init", p_.core, p_.core + ".init"}) {
      DealWhole(sums + i, sums + d);
    }
    for (const std::string& row :
         {tile_ + ".0.init", tile_ + ".1.init", p_.core + ".0", p_.core + ".0.init"}) {
      Deal(row + i, {});
    }
    LoopRef out_i = Key(p_.out, p_.out_i), out_d = Key(p_.out, p_.out_d);
    Try(Unroll{LevelKey(out_i, 2)});
    Try(Unroll{LevelKey(out_d, 0)});
    Try(Bind{LevelKey(out_i, 3), ForKind::kThreadIdxY});
    Try(Bind{LevelKey(out_d, 1), ForKind::kThreadIdxX});
    Try(Vectorize{LevelKey(out_d, 2)});
  }

  // Returns a free size among the divisors of `whole`, which starts at the largest up to `start`.
  Expr WholeSize(const LoopRef& loop, int64_t whole, int64_t most, int64_t start) {
    Domain divisors{DomainKind::kChoice, {}};
    int64_t first = 1;
    for (int64_t size = 1; size <= std::min(whole, most); ++size) {
      if (whole % size != 0) continue;
      divisors.numbers.push_back(size);
      if (size <= start) first = size;
    }
    return state_.Size(loop, divisors.numbers.back(), divisors, first);
  }

  // Fetches keys and values of the next tile while this one is computed.
  void Pipeline() {
    Expr stages =
        state_.Size(tile_loop_ + ".stages", 3, {DomainKind::kChoice, {1, 2, 3}}, start_.stages);
    Try(SoftwarePipeline{tile_loop_, stages, ForKind::kPipelinedAsync});
  }

  const SketchState& original_;
  SketchState state_;
  AttentionParts p_;
  Operands o_;
  const Target& target_;
  std::string map_of_queries_, map_of_keys_, map_of_values_;
  DType type_;
  Extents extents_;
  Start start_;
  bool failed_ = false;
  Expr warps_, tiles_;
  LoopRef block_loop_, warp_loop_, tile_loop_;
  std::string tile_;  // the prefix of the names of the tile's blocks
};

// Returns nullopt unless both products are of buffers of 16 bits.
std::optional<Operands> OperandsOf(const Function& fn, const AttentionParts& parts) {
  Ref<Block> scores = BlockAt(FindBlock(fn, parts.scores).value());
  Ref<Block> core = BlockAt(FindBlock(fn, parts.core).value());
  std::vector<std::string> factors = FactorsOf(scores->body.as<Reduce>()->inputs[0]);
  const auto* widened = core->body.as<Reduce>()->inputs.back().as<Cast>();
  const auto* values = widened ? widened->value.as<Load>() : nullptr;
  if (factors.size() != 2 || !values || values->buffer.dtype().bits() != 16) return std::nullopt;
  Operands operands{factors[0], factors[1], values->buffer->name};
  for (const Access& read : ReadsOf(*scores)) {
    auto has = [&](const std::string& name) {
      return std::ranges::any_of(scores->iters, [&](const IterVar& iter) {
        return iter.var->name == name && std::ranges::any_of(read.indices, [&](const Expr& index) {
                 return UsesVar(index, iter.var);
               });
      });
    };
    if (read.buffer->name == factors[0] && has(parts.scores_t)) {
      std::swap(operands.queries, operands.keys);
    }
  }
  return operands;
}

}  // namespace

std::optional<SketchState> ScheduleMmaAttention(const SketchState& state, const Block& block,
                                                const Target& target) {
  const Function& fn = state.fn();
  if (target.sm < kAsyncCopies) return std::nullopt;
  for (const Ref<Block>& core : BlocksOf(fn.body)) {
    if (state.IsDone(core->name) || !IsAttentionCore(*core)) continue;
    std::optional<AttentionParts> parts = FindAttentionParts(fn, *core);
    if (!parts || state.IsDone(parts->scores) || state.IsDone(parts->logits)) continue;
    std::optional<Operands> operands = OperandsOf(fn, *parts);
    if (!operands) continue;
    bool own = block.name == parts->core || block.name == parts->scores ||
               block.name == parts->logits || block.name == parts->out;
    for (const std::string& operand : {operands->queries, operands->keys, operands->values}) {
      const Block* map = OnlyMapInto(fn, BufferNamed(fn, operand).value().var);
      own = own || (map && map->name == block.name);
    }
    if (!own) continue;
    MmaAttention attention(state, *std::move(parts), *std::move(operands), target);
    if (auto done = std::move(attention).Build()) return done;
  }
  return std::nullopt;
}

}  // namespace tcc
