#include <algorithm>

#include "ir/analysis/accesses.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/cpu_rules.h"
#include "schedule/sketches/cpu/sliding_rows.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

double BytesOf(const Function& fn, const Var& buffer) {
  double bytes = static_cast<double>(WholeBytes(buffer.dtype()));
  for (const Expr& extent : FindBuffer(fn, buffer)->shape) {
    bytes *= static_cast<double>(AsConstant(extent).value_or(1));
  }
  return bytes;
}

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
    Expr registers = state_.Size(LevelKey(columns, 1), kMaxTileVectors, {}, tile_.registers);
    Expr tile_rows = state_.Size(LevelKey(line, 1), std::min(extent, kMaxTileRows), {}, tile_.rows);
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
    for (const std::string& name : {product_.name, product_.name + ".init"}) {
      state_.MarkDone(name);
    }
    return FillProductTile(state_, product_, lanes_);
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

  SketchState& state_;
  const Block& product_;
  const std::vector<size_t> spatial_;
  const RegisterTile tile_;
  Expr lanes_;
};

}  // namespace

std::optional<SketchState> TileChain(const SketchState& state, const Block& product,
                                     const Block& block, const Target& target) {
  // Rows of a plane, at least.
  if (ItersOf(product, IterKind::kSpatial).size() < 3) return std::nullopt;
  SketchState next = state;
  ResultReader rows = KeepResultLocal(next, product);
  RegisterTiling t(next, block, target);
  const Block& writer = *FindBlock(next.fn(), rows.block).value().back().as<Block>();
  std::optional<SlidingRows> sliding = FindSlidingRows(t, WritesOf(writer)[0].buffer);
  if (!sliding) return std::nullopt;
  // A piece's rows stay in half of L2.
  double row_bytes = BytesOf(t.state.fn(), WritesOf(writer)[0].buffer) /
                     static_cast<double>(t.Extent(sliding->axis) * t.Others(sliding->axis));
  double fits = static_cast<double>(target.l2_bytes) / 2 / row_bytes;
  auto in_turn = std::max<int64_t>(static_cast<int64_t>(fits), 1);
  int64_t pieces = std::max(CeilDivision(t.Extent(sliding->axis), in_turn),
                            CeilDivision(kParallelPieces, t.Others(sliding->axis)));
  std::vector<LoopRef> outer;
  TilePieces(t, *sliding, pieces, outer);
  if (!ChainedProduct(t.state, product, target).Build(rows.block, outer.back())) {
    return std::nullopt;
  }
  t.state.MarkDone(block.name);
  RunInParallel(t.state, block, outer);
  return std::move(t.state);
}

}  // namespace tcc
