#include "schedule/sketches/gpu/gpu_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "ir/analysis/accesses.h"
#include "schedule/analysis/guard.h"
#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/gpu/mma_start.h"
#include "schedule/sketches/gpu/part_sum.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/fuse.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/pad.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/re_index.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor.h"
#include "schedule/steps/software_pipeline.h"
#include "schedule/steps/split.h"
#include "schedule/steps/storage_align.h"
#include "schedule/steps/tensorize.h"
#include "schedule/steps/transform_layout.h"
#include "support/device_profile.h"

namespace tcc {
namespace {

// Shapes of mma, ldmatrix and cp.async, as PTX ISA gives them.
constexpr int64_t kColumns = 8;  // of an instruction's tile
constexpr int64_t kLoaded = 16;  // rows or columns of one load of matrices
// A lane holds two neighbours of every eighth row.
constexpr int64_t kLaneRows = 8;
constexpr int64_t kNeighbours = 2;
constexpr int64_t kLaneColumns = 4;
constexpr int64_t kHalfBytes = 2;
constexpr int64_t kWordBytes = 4;
constexpr int64_t kChunkBytes = 16;
// The warps of a group.
constexpr int64_t kGroupWarps = 4;

int64_t Log2(int64_t power) {
  return std::countr_zero(static_cast<uint64_t>(power));
}

class MmaTiled {
 public:
  MmaTiled(const SketchState& state, const Block& block, const MmaProduct& product,
           const MmaStart& start, const Target& target)
      : state_(state),
        block_(block),
        name_(block.name),
        p_(product),
        start_(start),
        target_(target),
        in_parts_(start.parts > 1),
        by_group_(product.mma->by == MmaBy::kGroup) {
    SetKeys();
    ChooseSizes();
  }

  // With `maps`, maps that compute an operand run where its tiles are staged.
  std::optional<SketchState> Build(bool maps) && {
    ResultReader reader = KeepResult(state_, block_, in_parts_ ? Scope::kLocal : Scope::kWarp);
    PackAlongK(p_.a, p_.m);
    PackAlongK(p_.b, p_.n);
    for (MmaOperand* operand : {&p_.a, &p_.b}) CopyToShared(*operand, maps);
    Try(Pad{name_, block_.iters[p_.m].var->name, rows_});
    Try(Pad{name_, block_.iters[p_.n].var->name, columns_});
    Try(Pad{name_, block_.iters[p_.k].var->name, in_parts_ ? parts_ * steps_ : steps_});
    ResultReader results = in_parts_ ? FactorParts() : reader;
    if (!by_group_) KeepFragments();
    LoopRef warps = SplitAxes();
    Try(DecomposeReduction{name_, r_});
    Try(ReverseComputeAt{results.block, warps});
    if (in_parts_) Try(ReverseComputeAt{block_.name, tiles_});
    for (const MmaOperand* operand : {&p_.a, &p_.b}) Stage(*operand);
    Try(Tensorize{LevelKey(m_, 3), std::string(p_.mma->intrinsic)});
    for (const LoopRef& loop : {k_tile_, LevelKey(m_, 2), LevelKey(n_, 2)}) Try(Unroll{loop});
    if (!by_group_) {
      for (const MmaOperand* operand : {&p_.a, &p_.b}) LoadFragments(*operand);
    }
    DistributeZeros();
    DistributeResults(results);
    PipelineStages();
    if (failed_) return std::nullopt;
    if (in_parts_) SumParts(state_, block_, SummedAxes(), reader);
    return std::move(state_);
  }

 private:
  // Applies the step, unless it or an earlier one is refused.
  void Try(const Step& step) { failed_ = failed_ || !state_.Try(step); }

  int64_t ExtentAt(size_t iter) const { return ExtentOf(block_, iter); }

  void SetKeys() {
    m_ = BaseKey(name_, block_.iters[p_.m]);
    n_ = BaseKey(name_, block_.iters[p_.n]);
    k_ = BaseKey(name_, block_.iters[p_.k]);
    k_tile_ = LevelKey(k_, in_parts_ ? 2 : 1);
    k_depth_ = LevelKey(k_, in_parts_ ? 3 : 2);
  }

  void ChooseSizes() {
    if (by_group_) {
      ChooseGroups();
    } else {
      ChooseWarps();
    }
    int64_t depth = p_.mma->depth;
    k_tiles_ = state_.Size(k_tile_, kMaxMmaSteps, PowersOfTwo(1, kMaxMmaSteps),
                           start_.step_bytes / (depth * p_.a.bytes));
    if (in_parts_) parts_ = state_.Size(LevelKey(k_, 1), kMaxMmaParts, {}, start_.parts);
    rows_ = m_warps_ * m_tiles_ * Expr(p_.mma->rows);
    columns_ = n_warps_ * n_tiles_ * Expr(kColumns);
    steps_ = k_tiles_ * Expr(depth);
  }

  void ChooseWarps() {
    const MmaLevels& start = start_.levels;
    m_warps_ = state_.Size(LevelKey(m_, 1), 4, PowersOfTwo(1, 4), start.m_warps);
    int64_t at_once = kLoaded / p_.mma->rows;
    m_tiles_ = state_.Size(LevelKey(m_, 2), 8 * at_once, PowersOfTwo(at_once, 8 * at_once),
                           start.m_tiles * at_once);
    n_warps_ = state_.Size(LevelKey(n_, 1), 4, PowersOfTwo(1, 4), start.n_warps);
    n_tiles_ = state_.Size(LevelKey(n_, 2), 8, PowersOfTwo(2, 8), start.n_tiles);
  }

  // The warps of a group have neighbouring rows, and all of its columns.
  void ChooseGroups() {
    const MmaLevels& start = start_.levels;
    m_warps_ =
        state_.Size(LevelKey(m_, 1), 4 * kGroupWarps, PowersOfTwo(kGroupWarps, 16), start.m_warps);
    m_tiles_ = Expr(1);
    // Groups of columns would begin inside of panels of columns.
    int64_t most = p_.b.along_k() ? 2 : 1;
    n_warps_ = state_.Size(LevelKey(n_, 1), most, PowersOfTwo(1, most), start.n_warps);
    n_tiles_ = state_.Size(LevelKey(n_, 2), 32, {DomainKind::kChoice, {2, 4, 6, 8, 12, 16, 24, 32}},
                           start.n_tiles);
  }

  void KeepFragments() {
    for (const MmaOperand* operand : {&p_.a, &p_.b}) {
      Try(CacheRead{operand->shared, {name_}, Scope::kWarp, operand->tile});
    }
  }

  // Gives every part of the reduction, one of each `parts` steps, results of its own, which the
  // last block of a tile adds up. Returns their reader.
  ResultReader FactorParts() {
    Try(Split{k_, {parts_, k_tiles_, Expr(p_.mma->depth)}});
    LoopRef part = k_;
    name_ += ".part";
    Try(RFactor{block_.name, LevelKey(part, 1), 0, Scope::kGlobal, name_});
    SetKeys();
    part_ = LevelKey(k_, 1);
    ResultReader reader{.block = name_ + ".out", .loops = {}};
    Try(CacheWrite{name_, name_, Scope::kWarp, reader.block});
    for (size_t d = 1; d <= ItersOf(block_, IterKind::kSpatial).size(); ++d) {
      reader.loops.push_back(fmt::format("{}/ax{}", reader.block, d));
    }
    for (const char* made : {"", ".init", ".out"}) state_.MarkDone(name_ + made);
    return reader;
  }

  // Computes constant operands when the model is linked, and copies operands along k where needed.
  // Matrix loads transpose only 16-bit cells. Other operands that are not along k get a copy that
  // is, unless they are non-constant words; a copy of a non-constant operand is a launch of its
  // own.
  void PackAlongK(MmaOperand& operand, size_t axis) {
    Buffer buffer = BufferNamed(state_.fn(), operand.buffer).value();
    const Block* map = OnlyMapInto(state_.fn(), buffer.var);
    std::optional<Prepack> made =
        map && !state_.IsDone(map->name) ? PrepackOfStage(state_.fn(), *map) : std::nullopt;
    if (made) {
      Try(*made);
      state_.MarkDone(made->block);
    }
    bool constant = made || buffer.scope == Scope::kConstant;
    bool moves = operand.bytes == kHalfBytes || (operand.bytes == kWordBytes && !constant);
    // A group reads words only along k.
    failed_ = failed_ || (by_group_ && operand.by_words() && moves);
    if (operand.along_k() || moves) return;
    std::string copy = name_ + "." + operand.buffer + ".rows";
    Try(ReIndex{name_, operand.buffer, Scope::kGlobal, copy});
    if (constant) {
      Try(Prepack{copy});
      state_.MarkDone(copy);
    }
    if (failed_) return;
    const auto& block = *FindBlock(state_.fn(), name_).value().back().as<Block>();
    for (const Access& read : ReadsOf(block)) {
      if (read.buffer->name != copy) continue;
      std::optional<MmaOperand> transposed = MmaOperandOf(state_.fn(), block, read, axis, p_.k);
      failed_ = !transposed || !transposed->along_k();
      if (transposed) operand = *std::move(transposed);
    }
  }

  // Puts the operand in shared memory, as a whole for now.
  void CopyToShared(MmaOperand& operand, bool maps) {
    Var var = BufferNamed(state_.fn(), operand.buffer).value().var;
    const Block* map = OnlyMapInto(state_.fn(), var);
    bool fills = maps && map && !state_.IsDone(map->name) && OnlyReaderOf(state_.fn(), var);
    operand.filler = fills ? map->name : name_ + "." + operand.buffer;
    operand.shared = fills ? operand.buffer : operand.filler;
    operand.tile = operand.shared + ".tile";
    if (fills) {
      Try(SetScope{operand.buffer, Scope::kShared});
    } else {
      Try(CacheRead{operand.buffer, {name_}, Scope::kShared, operand.filler});
    }
    state_.MarkDone(operand.filler);
    state_.MarkDone(operand.tile);
  }

  // Splits the axes. Returns the loop over warps.
  LoopRef SplitAxes() {
    Try(Split{m_, {m_warps_, m_tiles_, Expr(p_.mma->rows)}});
    Try(Split{n_, {n_warps_, n_tiles_, Expr(kColumns)}});
    if (!in_parts_) Try(Split{k_, {k_tiles_, Expr(p_.mma->depth)}});
    std::vector<LoopRef> blocks, steps;
    for (size_t i = 0; i < block_.iters.size(); ++i) {
      if (i == p_.m || i == p_.n || i == p_.k) continue;
      bool spatial = block_.iters[i].kind == IterKind::kSpatial;
      (spatial ? blocks : steps).push_back(BaseKey(name_, block_.iters[i]));
    }
    blocks.push_back(LevelKey(m_, 0));
    blocks.push_back(LevelKey(n_, 0));
    steps.push_back(LevelKey(k_, 0));
    std::vector<LoopRef> order = blocks;
    if (in_parts_) order.push_back(part_);
    const std::array<LoopRef, 2> warps = by_group_ ? std::array{LevelKey(n_, 1), LevelKey(m_, 1)}
                                                   : std::array{LevelKey(m_, 1), LevelKey(n_, 1)};
    order.insert(order.end(), warps.begin(), warps.end());
    order.insert(order.end(), steps.begin(), steps.end());
    for (const LoopRef& loop :
         {k_tile_, LevelKey(m_, 2), LevelKey(n_, 2), LevelKey(m_, 3), LevelKey(n_, 3), k_depth_}) {
      order.push_back(loop);
    }
    Try(Reorder{order});
    if (failed_) return "";
    if (in_parts_) Try(Bind{part_, ForKind::kBlockIdxY});
    tiles_ = FuseAll(state_, blocks);
    Try(Bind{tiles_, ForKind::kBlockIdxX});
    LoopRef fused = FuseAll(state_, {warps[0], warps[1]});
    Try(Bind{fused, ForKind::kThreadIdxY});
    r_ = FuseAll(state_, steps);
    return fused;
  }

  // Lays out the operand so that no rows of a matrix meet in a bank, and as tensor cores read
  // shared memory by themselves (PTX ISA, wgmma): panels of 128, 64 or 32 bytes of each row, in
  // which the number of a chunk of 16 bytes is XORed with that of its line of 128. A tile narrower
  // than its panel is padded.
  void LayOut(const MmaOperand& operand) {
    const auto last = static_cast<int64_t>(operand.rank) - 1;
    if (operand.by_words()) {
      Try(StorageAlign{operand.shared, last - 1, Expr(kBanks), Expr(kMmaWordsApart)});
      return;
    }
    const MmaLevels& levels = start_.levels;
    int64_t across = operand.shared == p_.a.shared ? levels.rows() : levels.columns();
    int64_t row = operand.along_k() ? start_.step_bytes : across * operand.bytes;
    int64_t panel = std::min(row, kPassBytes);
    std::vector<int64_t> order(operand.rank - 1);
    std::iota(order.begin(), order.end(), 0);
    auto rows = static_cast<int64_t>(std::min(operand.axis_dim, operand.k_dim));
    std::erase(order, rows);
    order.insert(order.end(), {last, rows, last + 1});
    Try(TransformLayout{
        operand.shared, {{static_cast<int>(last), Expr(panel / operand.bytes)}}, order});
    Try(Swizzle{operand.shared, Log2(panel / kChunkBytes), Log2(kChunkBytes / operand.bytes),
                Log2(kPassBytes / kChunkBytes)});
  }

  // Makes all threads together fetch the tile of one step of the reduction.
  void Stage(const MmaOperand& operand) {
    if (!by_group_) Try(ComputeAt{operand.tile, k_tile_});
    Try(ComputeAt{operand.filler, r_});
    if (failed_) return;
    const int64_t chunk = kChunkBytes / operand.bytes;
    LayOut(operand);
    const Block* filler = FindBlock(state_.fn(), operand.filler).value().back().as<Block>();
    std::vector<LoopRef> loops = KeysOf(*filler, ItersOf(*filler, IterKind::kSpatial));
    LoopRef lanes = LevelKey(loops.back(), 1);
    int64_t whole = std::gcd(operand.row, chunk);
    Expr vector = state_.Size(lanes, chunk, PowersOfTwo(1, chunk), whole);
    Try(Split{loops.back(), {vector}});
    loops.back() = LevelKey(loops.back(), 0);
    Try(Vectorize{lanes});
    if (failed_) return;
    LoopRef fused = FuseAll(state_, loops);
    Try(Split{fused, {m_warps_ * n_warps_, Expr(Target::kWarp)}});
    Try(Bind{LevelKey(fused, 1), ForKind::kThreadIdxY});
    Try(Bind{LevelKey(fused, 2), ForKind::kThreadIdxX});
    Try(Unroll{LevelKey(fused, 0)});
  }

  // Loads fragments from shared memory. Words can be transposed only if each lane fetches its own.
  void LoadFragments(const MmaOperand& operand) {
    LoopRef axis = fmt::format("{}/ax{}", operand.tile, operand.axis_dim);
    LoopRef k = fmt::format("{}/ax{}", operand.tile, operand.k_dim);
    std::vector<LoopRef> others;
    for (size_t d = 0; d < operand.rank; ++d) {
      if (d == operand.axis_dim || d == operand.k_dim) continue;
      others.push_back(fmt::format("{}/ax{}", operand.tile, d));
    }
    if (operand.by_words()) {
      LoadWords(axis, k, others);
    } else {
      LoadMatrices(operand, axis, k, others);
    }
  }

  // Loads words of rows along the axis: lane (axis mod 8) * 4 + k mod 4 holds a word of every
  // eighth row.
  void LoadWords(const LoopRef& axis, const LoopRef& k, std::vector<LoopRef> order) {
    Try(Split{axis, {Expr(kLaneRows)}});
    Try(Split{k, {Expr(kLaneColumns)}});
    order.push_back(LevelKey(axis, 0));
    order.push_back(LevelKey(k, 0));
    std::vector<LoopRef> unrolled = order;
    order.push_back(LevelKey(axis, 1));
    order.push_back(LevelKey(k, 1));
    Try(Reorder{order});
    for (const LoopRef& loop : unrolled) Try(Unroll{loop});
    Try(Fuse{LevelKey(axis, 1), LevelKey(k, 1)});
    Try(Bind{FusedKey(LevelKey(axis, 1), LevelKey(k, 1)), ForKind::kThreadIdxX});
  }

  void LoadMatrices(const MmaOperand& operand, const LoopRef& axis, const LoopRef& k,
                    std::vector<LoopRef> order) {
    Try(Split{axis, {Expr(kLoaded)}});
    order.push_back(LevelKey(axis, 0));
    std::vector<LoopRef> unrolled = order;
    std::array<LoopRef, 2> inner = {LevelKey(axis, 1), k};
    std::array<int64_t, 2> extents = {kLoaded, p_.mma->depth};
    if (operand.k_dim < operand.axis_dim) {
      std::swap(inner[0], inner[1]);
      std::swap(extents[0], extents[1]);
    }
    order.insert(order.end(), inner.begin(), inner.end());
    Try(Reorder{order});
    for (const LoopRef& loop : unrolled) Try(Unroll{loop});
    Try(Tensorize{inner[0], fmt::format("load_matrices_{}x{}_{}", extents[0], extents[1],
                                        ToString(operand.type))});
  }

  // Assigns the cells of 16 x 8, or 8 x 8, to the lanes that hold them: rows r and columns c of
  // tile[r.1][8 r.2] x [4 c.1][2 c.2], the lanes being r.2 * 4 + c.1. Returns the remaining loop,
  // over neighbours.
  LoopRef DistributeTile(const std::vector<LoopRef>& outside, const LoopRef& rows,
                         const LoopRef& columns, size_t level) {
    LoopRef lane_rows = LevelKey(rows, level), lane_columns = LevelKey(columns, level - 1);
    LoopRef neighbours = LevelKey(columns, level);
    std::vector<LoopRef> unrolled = outside;
    for (size_t l = 0; l < level; ++l) unrolled.push_back(LevelKey(rows, l));
    for (size_t l = 0; l + 1 < level; ++l) unrolled.push_back(LevelKey(columns, l));
    std::vector<LoopRef> order = unrolled;
    for (const LoopRef& loop : {lane_rows, lane_columns, neighbours}) order.push_back(loop);
    Try(Reorder{order});
    for (const LoopRef& loop : unrolled) Try(Unroll{loop});
    if (failed_) return neighbours;
    Try(Fuse{lane_rows, lane_columns});
    Try(Bind{FusedKey(lane_rows, lane_columns), ForKind::kThreadIdxX});
    return neighbours;
  }

  void DistributeZeros() {
    auto init = [&](const LoopRef& loop, size_t level) {
      return name_ + ".init" + LevelKey(loop, level).substr(name_.size());
    };
    Try(Split{init(m_, 3), {Expr(kLaneRows)}});
    Try(Split{init(n_, 3), {Expr(kNeighbours)}});
    Try(Unroll{DistributeTile({init(m_, 2), init(n_, 2)}, init(m_, 3), init(n_, 3), 1)});
  }

  // Distributes the reader of the results over lanes too.
  void DistributeResults(const ResultReader& reader) {
    std::vector<LoopRef> others;
    if (in_parts_) others.push_back(reader.block + "/ax0");
    LoopRef rows, columns;
    std::vector<size_t> spatial = ItersOf(block_, IterKind::kSpatial);
    for (size_t s = 0; s < spatial.size(); ++s) {
      if (spatial[s] == p_.m) {
        rows = reader.loops[s];
      } else if (spatial[s] == p_.n) {
        columns = reader.loops[s];
      } else {
        others.push_back(reader.loops[s]);
      }
    }
    Try(Split{rows, {Expr(p_.mma->rows / kLaneRows), Expr(kLaneRows)}});
    Try(Split{columns, {Expr(kColumns / kNeighbours), Expr(kNeighbours)}});
    LoopRef neighbours = DistributeTile(others, rows, columns, 2);
    bool whole = ExtentAt(p_.n) % kNeighbours == 0;
    Try(whole ? Step(Vectorize{neighbours}) : Step(Unroll{neighbours}));
  }

  // The lanes of a warp sum up parts of its tile in blocks of neighbours.
  std::vector<SummedAxis> SummedAxes() const {
    std::vector<SummedAxis> axes;
    for (size_t i : ItersOf(block_, IterKind::kSpatial)) {
      SummedAxis axis;
      if (i == p_.m) {
        axis = {m_warps_, Expr(kLaneRows), m_tiles_ * Expr(p_.mma->rows / kLaneRows)};
      } else if (i == p_.n) {
        axis = {n_warps_, Expr(kLaneColumns), n_tiles_ * Expr(kColumns / kLaneColumns)};
      }
      axes.push_back(axis);
    }
    return axes;
  }

  // Pipelines the loop: copies of later steps of the reduction are in flight while this one
  // computes.
  void PipelineStages() {
    bool async = target_.sm >= kAsyncCopies;
    Domain domain{DomainKind::kChoice, {1, 2}};
    if (async) domain.numbers = {1, 2, 3, 4};
    Expr stages = state_.Size(r_ + ".stages", domain.numbers.back(), domain, start_.stages);
    Try(SoftwarePipeline{r_, stages, async ? ForKind::kPipelinedAsync : ForKind::kPipelined});
  }

  SketchState state_;
  const Block& block_;
  std::string name_;
  MmaProduct p_;
  MmaStart start_;
  const Target& target_;
  bool in_parts_;  // of the reduction; part_ is the loop over them
  bool by_group_;  // of four warps, which read their operands in shared memory
  LoopRef m_, n_, k_, k_tile_, k_depth_, r_, part_, tiles_;
  Expr m_warps_, m_tiles_, n_warps_, n_tiles_, k_tiles_, parts_;
  Expr rows_, columns_, steps_;  // of a thread block
  bool failed_ = false;
};

std::optional<SketchState> Tiled(const SketchState& state, const Block& block,
                                 const MmaProduct& product, const MmaStart& start,
                                 const Target& target) {
  for (bool maps : {true, false}) {
    SketchState fork = state;
    const char* name = product.mma->by == MmaBy::kGroup ? "group_mma" : "mma";
    fork.AddRuleName(fmt::format("{}{}", name, start.parts > 1 ? "_split_k" : ""));
    if (auto built = MmaTiled(fork, block, product, start, target).Build(maps)) return built;
  }
  return std::nullopt;
}

}  // namespace

std::vector<SketchState> TileForTensorCores(const SketchState& state, const Block& block,
                                            const Target& target) {
  std::vector<SketchState> ways;
  for (MmaBy by : {MmaBy::kGroup, MmaBy::kWarp}) {
    std::optional<MmaProduct> product = MmaProductOf(state.fn(), block, by, target);
    if (!product) continue;
    for (const MmaStart& start : MmaStarts(block, *product, target)) {
      if (auto way = Tiled(state, block, *product, start, target)) ways.push_back(*std::move(way));
    }
  }
  return ways;
}

}  // namespace tcc
