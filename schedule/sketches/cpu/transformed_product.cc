#include "schedule/sketches/cpu/cpu_rules.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/operand_panels.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The stages, in their order. The output's last three axes are the rows and columns of an image,
// whose tiles have `tile` of each, and its channels.
struct Stages {
  const Block* rows = nullptr;
  const Block* input = nullptr;
  const Block* product = nullptr;
  const Block* sums = nullptr;
  const Block* output = nullptr;
  int64_t tile = 0;
};

bool IsMap(const Block& block) {
  return ItersOf(block, IterKind::kReduce).empty() && WritesOf(block).size() == 1;
}

// The only reader of the one buffer that the block writes.
const Block* ReaderOf(const Function& fn, const Block& block) {
  std::vector<Access> writes = WritesOf(block);
  return writes.size() == 1 ? OnlyReaderOf(fn, writes[0].buffer) : nullptr;
}

bool IsTiledProduct(const Block& block) {
  return IsReduction(block) && WritesPlainly(block) && HasReuse(block) &&
         ItersOf(block, IterKind::kSpatial).size() >= 4;
}

// The size of the tiles whose rows `output` reads as the first index of `buffer`: rows mod size.
int64_t TileOf(const Block& output, const Var& buffer) {
  size_t axes = output.iters.size();
  for (const Access& read : ReadsOf(output)) {
    if (!(read.buffer == buffer) || axes < 3) continue;
    const auto* place = read.indices[0].as<FloorMod>();
    bool is_row = place && place->a.same_as(output.iters[axes - 3].var);
    return is_row ? AsConstant(place->b).value_or(0) : 0;
  }
  return 0;
}

std::optional<Stages> FindStages(const Function& fn, const Block& first) {
  Stages s;
  s.rows = &first;
  if (!IsMap(first) || first.iters.size() < 4) return std::nullopt;
  s.input = ReaderOf(fn, first);
  if (!s.input || !IsMap(*s.input) || s.input->iters.size() != first.iters.size()) {
    return std::nullopt;
  }
  s.product = ReaderOf(fn, *s.input);
  if (!s.product || !IsTiledProduct(*s.product)) return std::nullopt;
  s.sums = ReaderOf(fn, *s.product);
  if (!s.sums || !IsMap(*s.sums)) return std::nullopt;
  s.output = ReaderOf(fn, *s.sums);
  if (!s.output || !IsMap(*s.output)) return std::nullopt;
  s.tile = TileOf(*s.output, WritesOf(*s.sums)[0].buffer);
  if (s.tile <= 1) return std::nullopt;
  return s;
}

class TransformedProduct {
 public:
  TransformedProduct(const SketchState& state, const Stages& stages, const Target& target)
      : state_(state), s_(stages), target_(target), tile_(FirstTile()) {}

  // Returns false where a step is not legal.
  bool Build() {
    ChooseSizes();
    PackConstants();
    const std::string tiles = s_.product->name + ".sum";
    std::vector<LoopRef> outer = SplitOutput();
    bool is_placed = state_.Try(CacheWrite{s_.product->name, WritesOf(*s_.product)[0].buffer->name,
                                           Scope::kLocal, tiles}) &&
                     state_.Try(Reorder{OutputOrder(outer)}) &&
                     state_.Try(ComputeAt{s_.sums->name, LevelKey(Channels(), 0)}) &&
                     state_.Try(ComputeAt{tiles, outer.back()}) && TileProduct(tiles) &&
                     state_.Try(ComputeAt{s_.input->name, outer.back()}) && TransformInput();
    if (!is_placed) return false;
    UnrollTiles(*s_.sums);
    for (const LoopRef& loop : {LevelKey(Rows(), 2), LevelKey(Columns(), 1)}) {
      state_.Do(Unroll{loop});
    }
    state_.Do(Vectorize{LevelKey(Channels(), 1)});
    RunInParallel(state_, *s_.output, outer);
    for (const Block* block : {s_.rows, s_.input, s_.product, s_.sums, s_.output}) {
      state_.MarkDone(block->name);
    }
    for (const std::string& made : {tiles, s_.product->name + ".init"}) state_.MarkDone(made);
    return true;
  }

  SketchState Take() && { return std::move(state_); }

 private:
  static LoopRef KeyOf(const Block& block, size_t from_last) {
    return BaseKey(block.name, block.iters[block.iters.size() - from_last]);
  }
  LoopRef Rows() const { return KeyOf(*s_.output, 3); }
  LoopRef Columns() const { return KeyOf(*s_.output, 2); }
  LoopRef Channels() const { return KeyOf(*s_.output, 1); }
  int64_t OutputExtent(size_t from_last) const {
    return ExtentOf(*s_.output, s_.output->iters.size() - from_last);
  }

  // The places of the tiles and of the filters among the product's variables.
  size_t TilesIter() const { return ItersOf(*s_.product, IterKind::kSpatial).rbegin()[1]; }
  size_t FiltersIter() const { return ItersOf(*s_.product, IterKind::kSpatial).back(); }
  int64_t RowsOfTiles() const { return CeilDivision(OutputExtent(3), s_.tile); }
  int64_t TilesOfRow() const { return CeilDivision(OutputExtent(2), s_.tile); }

  // The elements of a map or of the product for a tile, an entry of the batch at a time.
  static int64_t TileElements(const Block& block) {
    std::vector<size_t> iters = ItersOf(block, IterKind::kSpatial);
    return ExtentOf(block, iters[0]) * ExtentOf(block, iters[1]) * ExtentOf(block, iters.back());
  }
  int64_t Terms() const {
    int64_t terms = 1;
    for (size_t i : ItersOf(*s_.product, IterKind::kReduce)) terms *= ExtentOf(*s_.product, i);
    return terms;
  }

  // The bytes of what the product reads and writes for a row of tiles, and of its weights. It reads
  // the input at each tap of a third dimension.
  int64_t RowBytes() const {
    int64_t taps = Terms() / ExtentOf(*s_.input, ItersOf(*s_.input, IterKind::kSpatial).back());
    int64_t per_tile = taps * TileElements(*s_.input) + TileElements(*s_.product);
    return per_tile * TilesOfRow() * WholeBytes(kFloat32);
  }
  int64_t WeightBytes() const { return TileElements(*s_.product) * Terms() * WholeBytes(kFloat32); }

  // The bytes that come from beyond L2 if pieces have so many rows of tiles: each piece reads all
  // weights, and what the product reads and writes passes twice if a piece does not fit in L2. Far
  // larger pieces wait longer for it.
  int64_t TrafficOf(int64_t rows) const {
    int64_t bytes = rows * RowBytes();
    int64_t passes = 4 * bytes <= 3 * target_.l2_bytes ? 0 : bytes <= 4 * target_.l2_bytes ? 2 : 3;
    return CeilDivision(RowsOfTiles(), rows) * WeightBytes() + passes * RowsOfTiles() * RowBytes();
  }

  // The initial number of rows of tiles in a piece. Where it does not divide the rows, every tile
  // of the product is guarded, which may cost a register; it has to save half of the traffic.
  int64_t FirstRows() const {
    int64_t pieces = RowsOfTiles() > 2 * kMinPieces ? kMinPieces : kMinPieces / 2;
    int64_t best = 1, best_cost = TrafficOf(1);
    for (int64_t rows = 2; rows <= CeilDivision(RowsOfTiles(), pieces); ++rows) {
      int64_t cost = TrafficOf(rows) * (RowsOfTiles() % rows == 0 ? 1 : 2);
      if (cost < best_cost) best = rows;
      best_cost = std::min(best_cost, cost);
    }
    return best;
  }

  RegisterTile FirstTile() const {
    return ChooseRegisterTile(FirstRows() * TilesOfRow(), ExtentOf(*s_.product, FiltersIter()),
                              target_, kFloat32);
  }

  void ChooseSizes() {
    LoopRef filters = BaseKey(s_.product->name, s_.product->iters[FiltersIter()]);
    LoopRef tiles = BaseKey(s_.product->name, s_.product->iters[TilesIter()]);
    int64_t extent = ExtentOf(*s_.product, FiltersIter());
    lanes_ = LanesOf(state_, LevelKey(filters, 2), extent, target_.FloatLanes(), tile_.lanes);
    registers_ = state_.Size(LevelKey(filters, 1), kMaxTileVectors, {}, tile_.registers);
    product_rows_ = state_.Size(LevelKey(tiles, 1), kMaxTileRows, {}, tile_.rows);
  }

  void PackConstants() {
    for (const PanelOperand& operand : ConstantOperands(state_.fn(), *s_.product, FiltersIter())) {
      if (!IsWorthPacking(operand, tile_.registers * tile_.lanes)) continue;
      for (const Step& step :
           PackingSteps(operand, s_.product->name, registers_, lanes_, panels_)) {
        state_.Do(step);
      }
    }
    for (const std::string& copy : panels_) state_.MarkDone(copy);
  }

  // Splits the output's loops. Returns those over pieces.
  std::vector<LoopRef> SplitOutput() {
    Expr rows = state_.Size(LevelKey(Rows(), 1), RowsOfTiles(), {}, FirstRows());
    int64_t channels = OutputExtent(1);
    Expr lanes = LanesOf(state_, LevelKey(Channels(), 1), channels, target_.FloatLanes(),
                         std::min<int64_t>(channels, target_.FloatLanes()));
    state_.Do(Split{Rows(), {rows, Expr(s_.tile)}});
    state_.Do(Split{Columns(), {Expr(s_.tile)}});
    state_.Do(Split{Channels(), {lanes}});
    std::vector<LoopRef> outer;
    for (size_t i = 0; i + 3 < s_.output->iters.size(); ++i) {
      outer.push_back(BaseKey(s_.output->name, s_.output->iters[i]));
    }
    outer.push_back(LevelKey(Rows(), 0));
    return outer;
  }

  std::vector<LoopRef> OutputOrder(const std::vector<LoopRef>& outer) const {
    std::vector<LoopRef> order = outer;
    order.insert(order.end(),
                 {LevelKey(Rows(), 1), LevelKey(Columns(), 0), LevelKey(Channels(), 0),
                  LevelKey(Rows(), 2), LevelKey(Columns(), 1), LevelKey(Channels(), 1)});
    return order;
  }

  // Tiles the product by registers below the loops of `tiles`, which writes its sums to memory, and
  // prefetches the next panel of weights while enough tiles use one.
  bool TileProduct(const std::string& tiles) {
    const Block& product = *s_.product;
    std::vector<size_t> spatial = ItersOf(product, IterKind::kSpatial);
    auto dim = [&](size_t d) { return tiles + "/ax" + std::to_string(d); };
    LoopRef rows = dim(spatial.size() - 2), filters = dim(spatial.size() - 1);
    state_.Do(Split{rows, {product_rows_}});
    state_.Do(Split{filters, {registers_, lanes_}});
    std::vector<LoopRef> order;
    for (size_t d = 0; d + 2 < spatial.size(); ++d) order.push_back(dim(d));
    order.insert(order.end(), {LevelKey(filters, 0), LevelKey(rows, 0), LevelKey(rows, 1),
                               LevelKey(filters, 1), LevelKey(filters, 2)});
    if (!state_.Try(Reorder{order}) || !state_.Try(ComputeAt{product.name, LevelKey(rows, 0)})) {
      return false;
    }
    state_.Do(Unroll{LevelKey(rows, 1)});
    state_.Do(Unroll{LevelKey(filters, 1)});
    state_.Do(Vectorize{LevelKey(filters, 2)});
    if (!FillProductTile(state_, product, lanes_)) return false;
    if (FirstRows() * TilesOfRow() < kMinPrefetchedRows) return true;
    LoopRef terms = KeysOf(product, ItersOf(product, IterKind::kReduce)).back();
    for (const std::string& panel : panels_) {
      state_.Try(Prefetch{product.name, panel, LevelKey(filters, 0), terms, Expr(1)});
    }
    return true;
  }

  // Transforms the tiles one after another, some channels of each at a time.
  bool TransformInput() {
    const Block& input = *s_.input;
    LoopRef channels = KeyOf(input, 1);
    int64_t extent = ExtentOf(input, input.iters.size() - 1);
    Expr lanes = LanesOf(state_, LevelKey(channels, 1), extent, target_.FloatLanes(),
                         std::min<int64_t>(extent, target_.FloatLanes()));
    state_.Do(Split{channels, {lanes}});
    std::vector<LoopRef> order;
    for (size_t i = 2; i + 1 < input.iters.size(); ++i) {
      order.push_back(BaseKey(input.name, input.iters[i]));
    }
    order.push_back(LevelKey(channels, 0));
    order.push_back(BaseKey(input.name, input.iters[0]));
    order.push_back(BaseKey(input.name, input.iters[1]));
    order.push_back(LevelKey(channels, 1));
    if (!state_.Try(Reorder{order}) ||
        !state_.Try(ComputeAt{s_.rows->name, LevelKey(channels, 0)})) {
      return false;
    }
    for (size_t i : {0, 1}) state_.Do(Unroll{BaseKey(input.name, input.iters[i])});
    state_.Do(Vectorize{LevelKey(channels, 1)});
    UnrollTiles(*s_.rows);
    return true;
  }

  // Keeps a stage's tile in registers: its first two axes are unrolled, its last is one vector.
  void UnrollTiles(const Block& stage) {
    for (size_t i : {0, 1}) state_.Do(Unroll{BaseKey(stage.name, stage.iters[i])});
    state_.Do(Vectorize{KeyOf(stage, 1)});
    state_.Do(SetScope{WritesOf(stage)[0].buffer->name, Scope::kLocal});
  }

  SketchState state_;
  const Stages& s_;
  const Target& target_;
  const RegisterTile tile_;
  Expr lanes_, registers_, product_rows_;
  std::vector<std::string> panels_;  // the packed copies of the weights
};

}  // namespace

std::optional<SketchState> ScheduleTransformedProduct(const SketchState& state, const Block& first,
                                                      const Target& target) {
  std::optional<Stages> stages = FindStages(state.fn(), first);
  if (!stages) return std::nullopt;
  TransformedProduct product(state, *stages, target);
  if (!product.Build()) return std::nullopt;
  return std::move(product).Take();
}

}  // namespace tcc
