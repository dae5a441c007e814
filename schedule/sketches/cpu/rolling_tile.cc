#include "schedule/sketches/cpu/cpu_rules.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/reduction_nest.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/register_tiling.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rolling_buffer.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// A spatial axis along which windows slide over dimension `dim` of a buffer.
struct RollingRows {
  std::string buffer;
  size_t dim = 0;
  size_t axis = 0;  // of the spatial ones
};

// The axis along which rows of `buffer` may be kept, outside of the tiles. Rows inside of them, as
// pools of planes (NCHW) have, are not: by hand, rows that roll were no faster than a padded copy
// of a plane, and both 10 to 90 % slower than masks at the borders where a row is at most one
// vector, or whole ones; 20 to 40 % faster where it is neither.
std::optional<RollingRows> FindRows(const RegisterTiling& tiling, const Var& buffer) {
  const Block& block = tiling.block();
  for (const Access& read : ReadsOf(block)) {
    if (!(read.buffer == buffer)) continue;
    for (size_t d = 0; d < read.indices.size(); ++d) {
      for (size_t s = 0; tiling.rows() && s < *tiling.rows(); ++s) {
        bool slides = s != tiling.columns() && tiling.Extent(s) > 1 &&
                      Slides(read.indices[d], block) &&
                      UsesVar(read.indices[d], block.iters[tiling.spatial()[s]].var);
        if (slides) return RollingRows{buffer->name, d, s};
      }
    }
  }
  return std::nullopt;
}

double BytesOf(const Function& fn, const Var& buffer) {
  double bytes = static_cast<double>(WholeBytes(buffer.dtype()));
  for (const Expr& extent : FindBuffer(fn, buffer)->shape) {
    bytes *= static_cast<double>(AsConstant(extent).value_or(1));
  }
  return bytes;
}

// The map computes the rows that are new, by vectors along its last axis.
bool RollRows(SketchState& state, const RollingRows& rolling, const std::string& map,
              const LoopRef& at, const Target& target) {
  bool placed = state.Try(ComputeAt{map, at}) &&
                state.Try(RollingBuffer{rolling.buffer, static_cast<int64_t>(rolling.dim)});
  if (!placed) return false;
  const Block& producer = *FindBlock(state.fn(), map).value().back().as<Block>();
  int64_t extent = ExtentOf(producer, producer.iters.size() - 1);
  std::string axis = KeysOf(producer, {producer.iters.size() - 1})[0].substr(map.size());
  std::string names[] = {map, map + ".fill"};
  Expr lanes = LanesOf(state, LevelKey(map + axis, 1), extent, 2 * target.FloatLanes(),
                       MapLanes(extent, target));
  for (const std::string& name : names) {
    state.Do(Split{name + axis, {lanes}});
    state.Do(Vectorize{LevelKey(name + axis, 1)});
    state.MarkDone(name);
  }
  return true;
}

}  // namespace

namespace {

// Schedules the register tiles of windows for pieces of rows of windows, by `at_first` pieces.
// Returns the loop over a piece's rows, whose parent is the last of `outer`, the loops over pieces;
// those are left to be run in parallel.
LoopRef TilePieces(RegisterTiling& t, const RollingRows& rolling, int64_t at_first,
                   std::vector<LoopRef>& outer) {
  const Block& block = t.block();
  ResultReader reader = KeepResultLocal(t.state, block);
  t.SplitTile(1, t.TilesOfPiece(1));

  LoopRef windows = t.Key(rolling.axis);
  int64_t extent = t.Extent(rolling.axis);
  int64_t start = CeilDivision(extent, std::min(at_first, extent));
  t.state.Do(Split{windows, {t.state.Size(LevelKey(windows, 1), extent, {}, start)}});
  for (size_t s = 0; s < t.spatial().size(); ++s) {
    if (s == t.columns() || t.rows() == s || s == rolling.axis) continue;
    outer.push_back(t.Key(s));
  }
  outer.push_back(LevelKey(windows, 0));
  LoopRef columns = t.Key(t.columns()), rows = t.Key(*t.rows());
  std::vector<LoopRef> order = outer;
  order.insert(order.end(), {LevelKey(windows, 1), LevelKey(columns, 0), LevelKey(rows, 0),
                             LevelKey(columns, 1), LevelKey(rows, 1)});
  std::vector<LoopRef> reduce = KeysOf(block, t.reduce());
  t.NestTile(order, reduce);
  t.state.Do(ReverseComputeAt{reader.block, LevelKey(rows, 1)});
  t.state.Do(DecomposeReduction{block.name, reduce[0]});
  t.FillRegisters({block.name, block.name + ".init"});
  t.FillReader(reader);
  t.UnrollWindow();
  return LevelKey(windows, 1);
}

}  // namespace

std::optional<SketchState> TileOverRollingRows(const SketchState& state, const Block& producer,
                                               const Block& block, const Target& target) {
  RegisterTiling t(state, block, target);
  std::optional<RollingRows> rolling = FindRows(t, WritesOf(producer)[0].buffer);
  if (!rolling) return std::nullopt;
  // At first so many rows of windows that there are some pieces.
  int64_t pieces = CeilDivision(kParallelPieces, t.Others(rolling->axis));
  std::vector<LoopRef> outer;
  LoopRef row = TilePieces(t, *rolling, pieces, outer);
  if (!RollRows(t.state, *rolling, producer.name, row, target)) return std::nullopt;
  RunInParallel(t.state, block, outer);
  return std::move(t.state);
}

namespace {

// The register tiles of the product that makes the rows of a piece.
class ChainedProduct {
 public:
  ChainedProduct(SketchState& state, const Block& product, const Target& target)
      : state_(state),
        product_(product),
        spatial_(ItersOf(product, IterKind::kSpatial)),
        tile_(ChooseRegisterTile(ExtentOf(product, spatial_.rbegin()[1]),
                                 ExtentOf(product, spatial_.back()), target,
                                 WritesOf(product)[0].buffer.dtype())) {}

  // Computes `rows`, which read the product, inside loop `at`, a tile at a time.
  bool Build(const std::string& rows, const LoopRef& at) {
    LoopRef line = Dim(rows, 2), columns = Dim(rows, 1);
    if (!state_.Try(ComputeAt{rows, at})) return false;
    int64_t extent = ExtentOf(product_, spatial_.rbegin()[1]);
    lanes_ = Expr(tile_.lanes);
    Expr registers = state_.Size(LevelKey(columns, 1), 8, {}, tile_.registers);
    Expr tile_rows = state_.Size(LevelKey(line, 1), std::min<int64_t>(extent, 30), {}, tile_.rows);
    state_.Do(Split{line, {tile_rows}});
    state_.Do(Split{columns, {registers, lanes_}});
    std::vector<LoopRef> order;
    for (size_t d = spatial_.size(); d > 2; --d) order.push_back(Dim(rows, d));
    order.insert(order.end(), {LevelKey(columns, 0), LevelKey(line, 0), LevelKey(line, 1),
                               LevelKey(columns, 1), LevelKey(columns, 2)});
    if (!state_.Try(Reorder{order}) || !state_.Try(ComputeAt{product_.name, LevelKey(line, 0)})) {
      return false;
    }
    Fill(rows, line, columns);
    return FillProduct();
  }

 private:
  // Returns the loop over the last but `from_end` - 1 dimension of a nest that ComputeAt has made.
  LoopRef Dim(const std::string& rows, size_t from_end) const {
    const Block& block = *FindBlock(state_.fn(), rows).value().back().as<Block>();
    return BaseKey(rows, block.iters[block.iters.size() - from_end]);
  }

  void Fill(const std::string& name, const LoopRef& line, const LoopRef& columns) {
    state_.Do(Unroll{LevelKey(line, 1)});
    state_.Do(Unroll{LevelKey(columns, 1)});
    state_.Do(Vectorize{LevelKey(columns, 2)});
    state_.MarkDone(name);
  }

  bool FillProduct() {
    LoopRef line = BaseKey(product_.name, product_.iters[spatial_.rbegin()[1]]);
    LoopRef columns = BaseKey(product_.name, product_.iters[spatial_.back()]);
    state_.Do(Split{columns, {lanes_}});
    std::vector<LoopRef> reduce = KeysOf(product_, ItersOf(product_, IterKind::kReduce));
    std::vector<LoopRef> order = reduce;
    order.insert(order.end(), {line, LevelKey(columns, 0), LevelKey(columns, 1)});
    if (!state_.Try(Reorder{order}) || !state_.Try(DecomposeReduction{product_.name, reduce[0]})) {
      return false;
    }
    for (const std::string& name : {product_.name, product_.name + ".init"}) {
      state_.Do(Vectorize{LevelKey(Rekeyed(columns, name), 1)});
      state_.Do(Unroll{LevelKey(Rekeyed(columns, name), 0)});
      state_.Do(Unroll{Rekeyed(line, name)});
      state_.MarkDone(name);
    }
    return true;
  }

  SketchState& state_;
  const Block& product_;
  const std::vector<size_t> spatial_;
  const RegisterTile tile_;
  Expr lanes_;
};

}  // namespace

std::optional<SketchState> TileChain(const SketchState& state, const Block& product,
                                     const Block& block, const Target& target) {
  SketchState next = state;
  ResultReader rows = KeepResultLocal(next, product);
  RegisterTiling t(next, block, target);
  const Block& writer = *FindBlock(next.fn(), rows.block).value().back().as<Block>();
  std::optional<RollingRows> rolling = FindRows(t, WritesOf(writer)[0].buffer);
  if (!rolling) return std::nullopt;
  // A piece's rows stay in half of L2.
  double row_bytes = BytesOf(t.state.fn(), WritesOf(writer)[0].buffer) /
                     static_cast<double>(t.Extent(rolling->axis) * t.Others(rolling->axis));
  double fits = static_cast<double>(target.l2_bytes) / 2 / row_bytes;
  auto in_turn = std::max<int64_t>(static_cast<int64_t>(fits), 1);
  int64_t pieces = std::max(CeilDivision(t.Extent(rolling->axis), in_turn),
                            CeilDivision(kParallelPieces, t.Others(rolling->axis)));
  std::vector<LoopRef> outer;
  TilePieces(t, *rolling, pieces, outer);
  if (!ChainedProduct(t.state, product, target).Build(rows.block, outer.back())) {
    return std::nullopt;
  }
  t.state.MarkDone(block.name);
  RunInParallel(t.state, block, outer);
  return std::move(t.state);
}

}  // namespace tcc
