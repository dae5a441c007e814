#include "schedule/sketches/gpu/gpu_rules.h"

#include <algorithm>

#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/sketches/parts/transposed_operand.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "schedule/steps/storage_align.h"
#include "support/device_profile.h"

namespace tcc {
namespace {

int64_t CellsOfWord(DType dtype) {
  return std::max<int64_t>(kBankBytes / dtype.bytes(), 1);
}

class TransposingTile {
 public:
  TransposingTile(const SketchState& state, const Block& block, size_t row,
                  std::vector<TransposedOperand> operands)
      : state_(state), block_(block), row_(row), operands_(std::move(operands)) {}

  // Returns false if a step is not legal.
  bool Build() {
    LoopRef rows = Key(row_), columns = Key(Last());
    SplitTile(rows, columns);
    std::vector<LoopRef> order;
    for (size_t i = 0; i < block_.iters.size(); ++i) {
      order.push_back(i == row_ || i == Last() ? LevelKey(Key(i), 0) : Key(i));
    }
    size_t outer = order.size();
    order.insert(order.end(), {LevelKey(rows, 2), LevelKey(columns, 1), LevelKey(rows, 1)});
    if (!state_.Try(Reorder{order})) return false;
    order.resize(outer);
    LoopRef tile = FuseAll(state_, order);
    LoopRef threads = FuseAll(state_, {LevelKey(rows, 2), LevelKey(columns, 1)});
    threads_ = LoopAt(FindLoop(state_.fn(), threads).value())->extent;
    if (!state_.Try(Bind{tile, ForKind::kBlockIdxX})) return false;
    if (!state_.Try(Bind{threads, ForKind::kThreadIdxX})) return false;
    for (const TransposedOperand& operand : operands_) {
      if (!Stage(operand, tile)) return false;
    }
    return state_.Try(Unroll{LevelKey(rows, 1)});
  }

  const SketchState& state() const { return state_; }

 private:
  size_t Last() const { return block_.iters.size() - 1; }
  LoopRef Key(size_t i) const { return BaseKey(block_.name, block_.iters[i]); }

  void SplitTile(const LoopRef& rows, const LoopRef& columns) {
    int64_t height = ExtentOf(block_, row_), width = ExtentOf(block_, Last());
    int64_t line = std::min(kPassBytes / operands_[0].dtype.bytes(), kMaxTransposedLine);
    int64_t of_thread = std::max<int64_t>(line / kTransposedThreadRows, 1);
    Expr inner = state_.Size(LevelKey(rows, 1), std::min(height, kMaxTransposedRows),
                             PowersOfTwo(1, kMaxTransposedRows), of_thread);
    Expr thread_rows = state_.Size(LevelKey(rows, 2), std::min<int64_t>(height, Target::kWarp), {},
                                   kTransposedThreadRows);
    Expr warp =
        state_.Size(LevelKey(columns, 1), 2 * Target::kWarp,
                    {DomainKind::kMultiples, {Target::kWarp / 2}}, std::min(width, Target::kWarp));
    state_.Do(Split{rows, {inner, thread_rows}});
    state_.Do(Split{columns, {warp}});
  }

  // Copies a tile of the operand to shared memory, a word per thread.
  bool Stage(const TransposedOperand& operand, const LoopRef& tile) {
    std::string copy = block_.name + "." + operand.buffer;
    state_.MarkDone(copy);
    if (!state_.Try(CacheRead{operand.buffer, {block_.name}, Scope::kShared, copy})) return false;
    if (!state_.Try(ComputeAt{copy, tile})) return false;
    const auto& filler = *FindBlock(state_.fn(), copy).value().back().as<Block>();
    std::vector<LoopRef> loops = KeysOf(filler, ItersOf(filler, IterKind::kSpatial));
    LoopRef& along = loops[operand.row_dim];
    int64_t cells = CellsOfWord(operand.dtype);
    int64_t lanes = std::min(cells, CopyLanes(ExtentOf(filler, operand.row_dim)));
    if (lanes > 1 && operand.row_dim + 1 == loops.size()) {
      state_.Do(Split{along, {Expr(lanes)}});
      if (!state_.Try(Vectorize{LevelKey(along, 1)})) return false;
      along = LevelKey(along, 0);
    }
    auto dim = static_cast<int64_t>(operand.column_dim);
    return FetchTogether(state_, loops, threads_) &&
           state_.Try(StorageAlign{copy, dim, Expr(2 * cells), Expr(cells)});
  }

  SketchState state_;
  const Block& block_;
  size_t row_;
  std::vector<TransposedOperand> operands_;
  Expr threads_;
};

}  // namespace

std::optional<SketchState> TileTransposingForThreads(const SketchState& state, const Block& block) {
  bool fits = block.iters.size() >= 2 && ItersOf(block, IterKind::kReduce).empty() &&
              ExtentOf(block, block.iters.size() - 1) >= kMinTransposedByWarp &&
              !RunsWhenLinked(state.fn(), block);
  for (size_t row = 0; fits && row + 1 < block.iters.size(); ++row) {
    if (ExtentOf(block, row) < kMinTransposedByWarp) continue;
    std::vector<TransposedOperand> operands = TransposedAlong(state.fn(), block, row);
    bool whole = std::ranges::all_of(
        operands, [](const TransposedOperand& operand) { return operand.dtype.bits() >= 8; });
    if (operands.empty() || !whole) continue;
    TransposingTile tile(state, block, row, std::move(operands));
    if (tile.Build()) return tile.state();
  }
  return std::nullopt;
}

}  // namespace tcc
