#include "schedule/gpu_mma_tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "ir/accesses.h"
#include "ir/support/integer_division.h"
#include "ir/visitor.h"
#include "schedule/block_pattern.h"
#include "schedule/constant_panels.h"
#include "schedule/default_tiles.h"
#include "schedule/sketch_parts.h"
#include "schedule/tensor_intrinsics.h"
#include "schedule/tensor_reading.h"
#include "schedule/thread_tile.h"

namespace tcc {
namespace {

constexpr int64_t kColumns = 8;  // of a tile of an instruction
constexpr int64_t kLoaded = 16;  // rows or columns that one load of matrices has
// Below this, most of an instruction's work is padding.
constexpr int64_t kFewestRows = 8;
// A lane holds two neighbours of a row, of each eighth row.
constexpr int64_t kLaneRows = 8;
constexpr int64_t kNeighbours = 2;
constexpr int64_t kLaneColumns = 4;
constexpr int64_t kHalfBytes = 2;
constexpr int64_t kWordBytes = 4;
constexpr int64_t kChunkBytes = 16;
// Of k between two barriers: rows of staged tiles, where the search starts.
constexpr int64_t kStepBytes = 64;
constexpr int64_t kMostSteps = 4;

struct MmaRow {
  DTypeCode operand;
  int sm;
  int64_t rows;  // of a tile
  int64_t depth;
  std::string_view intrinsic;
};

// The first that fits is taken.
constexpr MmaRow kMmas[] = {
    {DTypeCode::kFloat16, 80, 16, 16, "mma_m16n8k16_f16_f32"},
    {DTypeCode::kBFloat16, 80, 16, 16, "mma_m16n8k16_bf16_f32"},
    {DTypeCode::kInt8, 80, 16, 32, "mma_m16n8k32_s8_s32"},
    {DTypeCode::kInt8, 75, 8, 16, "mma_m8n8k16_s8_s32"},
    {DTypeCode::kFloat16, 75, 16, 8, "mma_m16n8k8_f16_f32"},
    {DTypeCode::kFloat32, 80, 16, 8, "mma_m16n8k8_tf32_f32"},
    {DTypeCode::kFloat32, 80, 16, 8, "mma_m16n8k8_3xtf32_f32"},
};

// An operand, and which of its dimensions are k and the axis of the result that it alone has.
struct Operand {
  std::string buffer;
  size_t axis_dim = 0, k_dim = 0;
  size_t rank = 0;
  int64_t bytes = 0;  // of an element
  int64_t row = 0;    // elements along the last dimension
  // Where it is staged: the buffer, the block that fills it, and the fragments' buffer and block.
  std::string shared = {}, filler = {}, tile = {};
  bool along_k() const { return k_dim > axis_dim; }
};

// What is multiplied, by positions of the block's variables.
struct Product {
  const MmaRow* mma = nullptr;
  size_t m = 0, n = 0, k = 0;
  Operand a, b;
};

// The instruction, what it multiplies, from where.
struct Reading {
  const MmaRow* mma;
  Access a, b;
};

// nullopt where the target has no instruction for the block's products.
std::optional<Reading> ReadProducts(const Block& block, const Target& target) {
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce || !IsConstant(block.predicate, 1)) return std::nullopt;
  for (const MmaRow& row : kMmas) {
    if (row.sm > target.sm) continue;
    LoopNest meaning = MeaningNest(*FindTensorIntrinsic(row.intrinsic).value());
    const auto& sum = *meaning.block->body.as<Reduce>();
    if (!Equal(sum.combiner, reduce->combiner)) continue;
    for (const IntrinsicOperands& operands : ReadValue(sum.inputs[0], reduce->inputs[0])) {
      const Access& a = operands.at("A");
      const Access& b = operands.at("B");
      bool fits = a.buffer.dtype().code() == row.operand && b.buffer.dtype() == a.buffer.dtype();
      if (fits && !(a.buffer == b.buffer)) return Reading{&row, a, b};
    }
  }
  return std::nullopt;
}

// The one dimension of `read` whose index is moved by the variable, cell by cell; nullopt where
// there is none such.
std::optional<size_t> DimOf(const Access& read, const Var& var) {
  std::optional<size_t> found;
  for (size_t d = 0; d < read.indices.size(); ++d) {
    if (!UsesVar(read.indices[d], var)) continue;
    if (found || !read.indices[d].same_as(var)) return std::nullopt;
    found = d;
  }
  return found;
}

bool Uses(const Access& read, const Var& var) {
  return std::any_of(read.indices.begin(), read.indices.end(),
                     [&](const Expr& index) { return UsesVar(index, var); });
}

// Of the spatial variables that only `read` has, the last one that it has as a dimension.
std::optional<size_t> OwnAxis(const Block& block, const Access& read, const Access& other) {
  std::optional<size_t> axis;
  for (size_t i : ItersOf(block, IterKind::kSpatial)) {
    const Var& var = block.iters[i].var;
    if (DimOf(read, var) && !Uses(other, var)) axis = i;
  }
  return axis;
}

// Of the reduce variables that both have as a dimension, the longest.
std::optional<size_t> SharedAxis(const Block& block, const Access& a, const Access& b) {
  std::optional<size_t> axis;
  for (size_t i : ItersOf(block, IterKind::kReduce)) {
    const Var& var = block.iters[i].var;
    if (!DimOf(a, var) || !DimOf(b, var)) continue;
    if (!axis || ExtentOf(block, i) > ExtentOf(block, *axis)) axis = i;
  }
  return axis;
}

// nullopt where memory is contiguous along neither of the dimensions, or their size is not known.
std::optional<Operand> OperandOf(const Function& fn, const Block& block, const Access& read,
                                 size_t axis, size_t k) {
  Operand operand{.buffer = read.buffer->name,
                  .axis_dim = *DimOf(read, block.iters[axis].var),
                  .k_dim = *DimOf(read, block.iters[k].var),
                  .rank = read.indices.size(),
                  .bytes = read.buffer.dtype().bytes()};
  std::optional<int64_t> row = AsConstant(FindBuffer(fn, read.buffer)->shape.back());
  if (std::max(operand.axis_dim, operand.k_dim) + 1 != operand.rank || !row) return std::nullopt;
  operand.row = *row;
  return operand;
}

std::optional<Product> ProductOf(const Function& fn, const Block& block, const Target& target) {
  std::optional<Reading> reading = ReadProducts(block, target);
  if (!reading) return std::nullopt;
  Access a = reading->a, b = reading->b;
  std::optional<size_t> of_a = OwnAxis(block, a, b), of_b = OwnAxis(block, b, a);
  std::optional<size_t> k = SharedAxis(block, a, b);
  if (!of_a || !of_b || !k) return std::nullopt;
  // Memory of the result is contiguous along the later axis.
  if (*of_a > *of_b) {
    std::swap(a, b);
    std::swap(of_a, of_b);
  }
  Product product;
  product.mma = reading->mma;
  product.m = *of_a;
  product.n = *of_b;
  product.k = *k;
  std::optional<Operand> left = OperandOf(fn, block, a, product.m, *k);
  std::optional<Operand> right = OperandOf(fn, block, b, product.n, *k);
  bool large = ExtentOf(block, product.m) >= kFewestRows &&
               ExtentOf(block, product.n) >= kFewestRows &&
               ExtentOf(block, *k) >= product.mma->depth;
  if (!left || !right || !large) return std::nullopt;
  product.a = *std::move(left);
  product.b = *std::move(right);
  return product;
}

bool HasKnownExtents(const Block& block) {
  return std::all_of(block.iters.begin(), block.iters.end(),
                     [](const IterVar& iter) { return AsConstant(iter.domain).has_value(); });
}

// Warps, and tiles of one of them, of kLoaded rows.
struct Levels {
  int64_t m_warps, n_warps, m_tiles, n_tiles;
  int64_t rows() const { return m_warps * m_tiles * kLoaded; }
  int64_t columns() const { return n_warps * n_tiles * kColumns; }
};

// From the largest on; the smallest loads as much as it computes, but keeps more of a GPU busy.
constexpr Levels kLevels[] = {
    {2, 4, 4, 4}, {2, 2, 4, 4}, {2, 2, 2, 4}, {2, 2, 1, 4}, {2, 2, 1, 2}, {1, 2, 1, 2},
};

// The largest tile that is made often enough, and is not mostly padding.
Levels StartLevels(int64_t rows, int64_t columns, int64_t others, const Target& target) {
  for (const Levels& levels : kLevels) {
    int64_t blocks = CeilDivision(rows, levels.rows()) * CeilDivision(columns, levels.columns());
    int64_t padded = blocks * levels.rows() * levels.columns();
    if (blocks * others >= target.multiprocessors && 2 * padded <= 3 * rows * columns)
      return levels;
  }
  return kLevels[std::size(kLevels) - 2];
}

class MmaTiled {
 public:
  MmaTiled(const SketchState& state, const Block& block, const Product& product,
           const Target& target)
      : state_(state), block_(block), name_(block.name), p_(product), target_(target) {
    m_ = BaseKey(name_, block.iters[p_.m]);
    n_ = BaseKey(name_, block.iters[p_.n]);
    k_ = BaseKey(name_, block.iters[p_.k]);
    ChooseSizes();
  }

  // `maps`: what makes an operand is done where its tiles are staged.
  std::optional<SketchState> Build(bool maps) && {
    ResultReader reader = KeepResult(state_, block_, Scope::kWarp);
    PackAlongK(p_.a, p_.m);
    PackAlongK(p_.b, p_.n);
    for (Operand* operand : {&p_.a, &p_.b}) CopyToShared(*operand, maps);
    Do(Pad{name_, block_.iters[p_.m].var->name, rows_});
    Do(Pad{name_, block_.iters[p_.n].var->name, columns_});
    Do(Pad{name_, block_.iters[p_.k].var->name, steps_});
    for (const Operand* operand : {&p_.a, &p_.b}) {
      Do(CacheRead{operand->shared, {name_}, Scope::kWarp, operand->tile});
    }
    LoopRef warps = SplitAxes();
    Do(ReverseComputeAt{reader.block, warps});
    for (const Operand* operand : {&p_.a, &p_.b}) Stage(*operand);
    Do(DecomposeReduction{name_, r_});
    Do(Tensorize{LevelKey(m_, 3), std::string(p_.mma->intrinsic)});
    for (const LoopRef& loop : {LevelKey(k_, 1), LevelKey(m_, 2), LevelKey(n_, 2)}) {
      Do(Unroll{loop});
    }
    for (const Operand* operand : {&p_.a, &p_.b}) LoadFragments(*operand);
    DistributeZeros();
    DistributeResults(reader);
    PipelineStages();
    if (failed_) return std::nullopt;
    return std::move(state_);
  }

 private:
  void Do(const Step& step) { failed_ = failed_ || !state_.Try(step); }

  int64_t ExtentAt(size_t iter) const { return ExtentOf(block_, iter); }

  void ChooseSizes() {
    int64_t others = 1;
    for (size_t i : ItersOf(block_, IterKind::kSpatial)) {
      if (i != p_.m && i != p_.n) others *= ExtentAt(i);
    }
    Levels start = StartLevels(ExtentAt(p_.m), ExtentAt(p_.n), others, target_);
    m_warps_ = state_.Size(LevelKey(m_, 1), 4, PowersOfTwo(1, 4), start.m_warps);
    int64_t at_once = kLoaded / p_.mma->rows;
    m_tiles_ = state_.Size(LevelKey(m_, 2), 8 * at_once, PowersOfTwo(at_once, 8 * at_once),
                           start.m_tiles * at_once);
    n_warps_ = state_.Size(LevelKey(n_, 1), 4, PowersOfTwo(1, 4), start.n_warps);
    n_tiles_ = state_.Size(LevelKey(n_, 2), 8, PowersOfTwo(2, 8), start.n_tiles);
    int64_t depth = p_.mma->depth;
    int64_t most = std::clamp<int64_t>(CeilDivision(ExtentAt(p_.k), depth), 1, kMostSteps);
    int64_t steps = std::clamp<int64_t>(kStepBytes / (depth * p_.a.bytes), 1, kMostSteps);
    k_tiles_ =
        state_.Size(LevelKey(k_, 1), kMostSteps, PowersOfTwo(1, kMostSteps), std::min(steps, most));
    rows_ = m_warps_ * m_tiles_ * Expr(p_.mma->rows);
    columns_ = n_warps_ * n_tiles_ * Expr(kColumns);
    steps_ = k_tiles_ * Expr(depth);
  }

  // What is constant is made when the model is linked. Only cells of 16 bits change places when
  // matrices are loaded: a copy of others has them along k, where they are constant or no words;
  // of what is computed it is a launch of its own.
  void PackAlongK(Operand& operand, size_t axis) {
    Buffer buffer = BufferNamed(state_.fn(), operand.buffer).value();
    const Block* map = OnlyMapInto(state_.fn(), buffer.var);
    std::optional<Prepack> made =
        map && !state_.IsDone(map->name) ? PrepackOfStage(state_.fn(), *map) : std::nullopt;
    if (made) {
      Do(*made);
      state_.MarkDone(made->block);
    }
    bool constant = made || buffer.scope == Scope::kConstant;
    bool moves = operand.bytes == kHalfBytes || (operand.bytes == kWordBytes && !constant);
    if (operand.along_k() || moves) return;
    std::string copy = name_ + "." + operand.buffer + ".rows";
    Do(ReIndex{name_, operand.buffer, Scope::kGlobal, copy});
    if (constant) {
      Do(Prepack{copy});
      state_.MarkDone(copy);
    }
    if (failed_) return;
    const auto& block = *FindBlock(state_.fn(), name_).value().back().as<Block>();
    for (const Access& read : ReadsOf(block)) {
      if (read.buffer->name != copy) continue;
      std::optional<Operand> turned = OperandOf(state_.fn(), block, read, axis, p_.k);
      failed_ = !turned || !turned->along_k();
      if (turned) operand = *std::move(turned);
    }
  }

  // The operand, in shared memory but whole for now.
  void CopyToShared(Operand& operand, bool maps) {
    Var var = BufferNamed(state_.fn(), operand.buffer).value().var;
    const Block* map = OnlyMapInto(state_.fn(), var);
    bool fills = maps && map && !state_.IsDone(map->name) && OnlyReaderOf(state_.fn(), var);
    operand.filler = fills ? map->name : name_ + "." + operand.buffer;
    operand.shared = fills ? operand.buffer : operand.filler;
    operand.tile = operand.shared + ".tile";
    if (fills) {
      Do(SetScope{operand.buffer, Scope::kShared});
    } else {
      Do(CacheRead{operand.buffer, {name_}, Scope::kShared, operand.filler});
    }
    state_.MarkDone(operand.filler);
    state_.MarkDone(operand.tile);
  }

  // Returns the loop over warps.
  LoopRef SplitAxes() {
    Do(Split{m_, {m_warps_, m_tiles_, Expr(p_.mma->rows)}});
    Do(Split{n_, {n_warps_, n_tiles_, Expr(kColumns)}});
    Do(Split{k_, {k_tiles_, Expr(p_.mma->depth)}});
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
    order.push_back(LevelKey(m_, 1));
    order.push_back(LevelKey(n_, 1));
    order.insert(order.end(), steps.begin(), steps.end());
    for (const LoopRef& loop : {LevelKey(k_, 1), LevelKey(m_, 2), LevelKey(n_, 2), LevelKey(m_, 3),
                                LevelKey(n_, 3), LevelKey(k_, 2)}) {
      order.push_back(loop);
    }
    Do(Reorder{order});
    if (failed_) return "";
    Do(Bind{FuseAll(state_, blocks), ForKind::kBlockIdxX});
    LoopRef warps = FuseAll(state_, {LevelKey(m_, 1), LevelKey(n_, 1)});
    Do(Bind{warps, ForKind::kThreadIdxY});
    r_ = FuseAll(state_, steps);
    return warps;
  }

  // The tile of a step of the reduction is fetched by all threads together, chunks of which lie so
  // that rows of a matrix meet in no bank.
  void Stage(const Operand& operand) {
    Do(ComputeAt{operand.tile, LevelKey(k_, 1)});
    Do(ComputeAt{operand.filler, r_});
    if (failed_) return;
    const int64_t chunk = kChunkBytes / operand.bytes;
    if (operand.along_k()) {
      // Rows of 16 to 128 bytes: chunks change places with those of rows in other banks.
      Do(Swizzle{operand.shared, 3, std::countr_zero(static_cast<uint64_t>(chunk)), 3});
    } else if (operand.bytes == kWordBytes) {
      // Four rows, of which lanes read eight neighbours each, fill the banks.
      Do(StorageAlign{operand.shared, static_cast<int64_t>(operand.rank) - 2,
                      Expr(kLaneColumns * kLaneRows), Expr(kLaneRows)});
    } else {
      // Rows begin at an odd number of chunks.
      Do(StorageAlign{operand.shared, static_cast<int64_t>(operand.rank) - 2, Expr(2 * chunk),
                      Expr(chunk)});
    }
    const Block* filler = FindBlock(state_.fn(), operand.filler).value().back().as<Block>();
    std::vector<LoopRef> loops = KeysOf(*filler, ItersOf(*filler, IterKind::kSpatial));
    LoopRef lanes = LevelKey(loops.back(), 1);
    int64_t whole = std::gcd(operand.row, chunk);
    Expr vector = state_.Size(lanes, chunk, PowersOfTwo(1, chunk), whole);
    Do(Split{loops.back(), {vector}});
    loops.back() = LevelKey(loops.back(), 0);
    Do(Vectorize{lanes});
    if (failed_) return;
    LoopRef fused = FuseAll(state_, loops);
    Do(Split{fused, {m_warps_ * n_warps_, Expr(Target::kWarp)}});
    Do(Bind{LevelKey(fused, 1), ForKind::kThreadIdxY});
    Do(Bind{LevelKey(fused, 2), ForKind::kThreadIdxX});
    Do(Unroll{LevelKey(fused, 0)});
  }

  // Shared memory to fragments. Words change places only where each lane fetches its own.
  void LoadFragments(const Operand& operand) {
    LoopRef axis = fmt::format("{}/ax{}", operand.tile, operand.axis_dim);
    LoopRef k = fmt::format("{}/ax{}", operand.tile, operand.k_dim);
    std::vector<LoopRef> others;
    for (size_t d = 0; d < operand.rank; ++d) {
      if (d == operand.axis_dim || d == operand.k_dim) continue;
      others.push_back(fmt::format("{}/ax{}", operand.tile, d));
    }
    if (operand.bytes == kWordBytes && !operand.along_k()) {
      LoadWords(axis, k, others);
    } else {
      LoadMatrices(operand, axis, k, others);
    }
  }

  // Rows along the axis, of which lanes (axis mod 8) * 4 + k mod 4 hold a word of every eighth.
  void LoadWords(const LoopRef& axis, const LoopRef& k, std::vector<LoopRef> order) {
    Do(Split{axis, {Expr(kLaneRows)}});
    Do(Split{k, {Expr(kLaneColumns)}});
    order.push_back(LevelKey(axis, 0));
    order.push_back(LevelKey(k, 0));
    std::vector<LoopRef> unrolled = order;
    order.push_back(LevelKey(axis, 1));
    order.push_back(LevelKey(k, 1));
    Do(Reorder{order});
    for (const LoopRef& loop : unrolled) Do(Unroll{loop});
    Do(Fuse{LevelKey(axis, 1), LevelKey(k, 1)});
    Do(Bind{FusedKey(LevelKey(axis, 1), LevelKey(k, 1)), ForKind::kThreadIdxX});
  }

  void LoadMatrices(const Operand& operand, const LoopRef& axis, const LoopRef& k,
                    std::vector<LoopRef> order) {
    Do(Split{axis, {Expr(kLoaded)}});
    order.push_back(LevelKey(axis, 0));
    std::vector<LoopRef> unrolled = order;
    std::array<LoopRef, 2> inner = {LevelKey(axis, 1), k};
    std::array<int64_t, 2> extents = {kLoaded, p_.mma->depth};
    if (operand.k_dim < operand.axis_dim) {
      std::swap(inner[0], inner[1]);
      std::swap(extents[0], extents[1]);
    }
    order.insert(order.end(), inner.begin(), inner.end());
    Do(Reorder{order});
    for (const LoopRef& loop : unrolled) Do(Unroll{loop});
    Do(Tensorize{inner[0], fmt::format("load_matrices_{}x{}_{}", extents[0], extents[1],
                                       ToString(DType(p_.mma->operand)))});
  }

  // Cells of 16 x 8, or 8 x 8, to the lanes that hold them: rows r and columns c of
  // tile[r.1][8 r.2] x [4 c.1][2 c.2], the lanes being r.2 * 4 + c.1. Returns the loop that is
  // left, over neighbours.
  LoopRef DistributeTile(const std::vector<LoopRef>& outside, const LoopRef& rows,
                         const LoopRef& columns, size_t level) {
    LoopRef lane_rows = LevelKey(rows, level), lane_columns = LevelKey(columns, level - 1);
    LoopRef neighbours = LevelKey(columns, level);
    std::vector<LoopRef> unrolled = outside;
    for (size_t l = 0; l < level; ++l) unrolled.push_back(LevelKey(rows, l));
    for (size_t l = 0; l + 1 < level; ++l) unrolled.push_back(LevelKey(columns, l));
    std::vector<LoopRef> order = unrolled;
    for (const LoopRef& loop : {lane_rows, lane_columns, neighbours}) order.push_back(loop);
    Do(Reorder{order});
    for (const LoopRef& loop : unrolled) Do(Unroll{loop});
    if (failed_) return neighbours;
    Do(Fuse{lane_rows, lane_columns});
    Do(Bind{FusedKey(lane_rows, lane_columns), ForKind::kThreadIdxX});
    return neighbours;
  }

  void DistributeZeros() {
    auto init = [&](const LoopRef& loop, size_t level) {
      return name_ + ".init" + LevelKey(loop, level).substr(name_.size());
    };
    Do(Split{init(m_, 3), {Expr(kLaneRows)}});
    Do(Split{init(n_, 3), {Expr(kNeighbours)}});
    Do(Unroll{DistributeTile({init(m_, 2), init(n_, 2)}, init(m_, 3), init(n_, 3), 1)});
  }

  // The reader of the results runs by lanes as well.
  void DistributeResults(const ResultReader& reader) {
    std::vector<LoopRef> others;
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
    Do(Split{rows, {Expr(p_.mma->rows / kLaneRows), Expr(kLaneRows)}});
    Do(Split{columns, {Expr(kColumns / kNeighbours), Expr(kNeighbours)}});
    LoopRef neighbours = DistributeTile(others, rows, columns, 2);
    bool whole = ExtentAt(p_.n) % kNeighbours == 0;
    Do(whole ? Step(Vectorize{neighbours}) : Step(Unroll{neighbours}));
  }

  // Copies of later steps of the reduction fly while this one computes.
  void PipelineStages() {
    bool async = target_.sm >= kAsyncCopies;
    Domain domain{DomainKind::kChoice, {1, 2}};
    if (async) domain.numbers = {1, 2, 3, 4};
    Expr stages = state_.Size(r_ + ".stages", domain.numbers.back(), domain, async ? 3 : 2);
    Do(SoftwarePipeline{r_, stages, async ? ForKind::kPipelinedAsync : ForKind::kPipelined});
  }

  SketchState state_;
  const Block& block_;
  std::string name_;
  Product p_;
  const Target& target_;
  LoopRef m_, n_, k_, r_;
  Expr m_warps_, m_tiles_, n_warps_, n_tiles_, k_tiles_;
  Expr rows_, columns_, steps_;  // of a thread block
  bool failed_ = false;
};

}  // namespace

int64_t ResultsOnTensorCores(const Function& fn, const Target& target) {
  int64_t most = 0;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    bool fits = IsReduction(*block) && WritesPlainly(*block) && HasKnownExtents(*block);
    std::optional<Product> product = fits ? ProductOf(fn, *block, target) : std::nullopt;
    if (product) {
      most = std::max(most, ExtentOf(*block, product->m) * ExtentOf(*block, product->n));
    }
  }
  return most;
}

std::optional<SketchState> TileForTensorCores(const SketchState& state, const Block& block,
                                              const Target& target) {
  std::optional<Product> product = ProductOf(state.fn(), block, target);
  if (!product) return std::nullopt;
  for (bool maps : {true, false}) {
    SketchState start = state;
    start.AddRuleName("mma");
    if (auto built = MmaTiled(start, block, *product, target).Build(maps)) return built;
  }
  return std::nullopt;
}

}  // namespace tcc
