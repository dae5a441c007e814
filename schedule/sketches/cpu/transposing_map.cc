#include "schedule/sketches/cpu/cpu_rules.h"

#include <algorithm>

#include "ir/expr/visitor.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/sketches/parts/transposed_operand.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/prepack.h"
#include "schedule/steps/re_index.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "support/device_profile.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The initial size of a tile of an operand.
struct TileSize {
  int64_t rows = 1;
  int64_t columns = 1;
};

// Whole lines of the operand by few columns; but all lanes where a map computes several functions.
TileSize ChooseTile(const Block& block, DType dtype, const Target& target) {
  int64_t calls = 0;
  PreOrderExprs(block.body, [&](const Expr& expr) { calls += expr.as<Call>() != nullptr; });
  int64_t line = std::min<int64_t>(kCacheLineBytes / WholeBytes(dtype), kMaxTransposed);
  bool is_wide = calls >= kMinCostlyCalls && target.FloatLanes() > kTransposedColumns;
  if (is_wide) return {std::min(line, kTransposedColumns), target.FloatLanes()};
  return {line, kTransposedColumns};
}

class TransposingTile {
 public:
  TransposingTile(const SketchState& state, const Block& block, size_t row,
                  std::vector<TransposedOperand> operands, const Target& target)
      : state_(state),
        block_(block),
        row_(row),
        operands_(std::move(operands)),
        start_(ChooseTile(block, operands_[0].dtype, target)) {}

  // Returns false if a step is not legal.
  bool Build() {
    LoopRef rows = Key(row_), columns = Key(Last());
    SplitAxis(rows, row_, start_.rows);
    SplitAxis(columns, Last(), start_.columns);
    std::vector<LoopRef> outer;
    for (size_t i = 0; i < block_.iters.size(); ++i) {
      outer.push_back(i == row_ || i == Last() ? LevelKey(Key(i), 0) : Key(i));
    }
    std::vector<LoopRef> order = outer;
    order.push_back(LevelKey(rows, 1));
    order.push_back(LevelKey(columns, 1));
    if (!state_.Try(Reorder{order})) return false;
    for (const TransposedOperand& operand : operands_) {
      if (!Stage(operand, outer.back())) return false;
    }
    if (!state_.Try(Vectorize{LevelKey(columns, 1)})) return false;
    if (!state_.Try(Unroll{LevelKey(rows, 1)})) return false;
    RunInParallel(state_, block_, outer);
    return true;
  }

  const SketchState& state() const { return state_; }

 private:
  size_t Last() const { return block_.iters.size() - 1; }
  LoopRef Key(size_t i) const { return BaseKey(block_.name, block_.iters[i]); }

  void SplitAxis(const LoopRef& loop, size_t i, int64_t start) {
    Expr part = LanesOf(state_, LevelKey(loop, 1), ExtentOf(block_, i), kMaxTransposed, start);
    state_.Do(Split{loop, {part}});
  }

  // Copies a tile of the operand as it lies in memory, then transposes the copy.
  bool Stage(const TransposedOperand& operand, const LoopRef& tile) {
    std::string lines = block_.name + "." + operand.buffer, transposed = lines + ".t";
    auto dim = [&](size_t d) { return lines + "/ax" + std::to_string(d); };
    state_.MarkDone(lines);
    state_.MarkDone(transposed);
    return state_.Try(CacheRead{operand.buffer, {block_.name}, Scope::kLocal, lines}) &&
           state_.Try(ReIndex{block_.name, lines, Scope::kLocal, transposed}) &&
           state_.Try(ComputeAt{transposed, tile}) && state_.Try(ComputeAt{lines, tile}) &&
           state_.Try(Vectorize{dim(operand.row_dim)}) &&
           state_.Try(Unroll{dim(operand.column_dim)}) &&
           state_.Try(Unroll{BaseKey(transposed, block_.iters[row_])}) &&
           state_.Try(Unroll{BaseKey(transposed, block_.iters[Last()])});
  }

  SketchState state_;
  const Block& block_;
  size_t row_;
  std::vector<TransposedOperand> operands_;
  TileSize start_;
};

}  // namespace

std::optional<SketchState> TileTransposing(const SketchState& state, const Block& block,
                                           const Target& target) {
  bool fits = block.iters.size() >= 2 && ItersOf(block, IterKind::kReduce).empty() &&
              ExtentOf(block, block.iters.size() - 1) >= kMinTransposed &&
              !RunsWhenLinked(state.fn(), block);
  for (size_t row = 0; fits && row + 1 < block.iters.size(); ++row) {
    if (ExtentOf(block, row) < kMinTransposed) continue;
    std::vector<TransposedOperand> operands = TransposedAlong(state.fn(), block, row);
    if (operands.empty()) continue;
    TransposingTile tile(state, block, row, std::move(operands), target);
    if (tile.Build()) return tile.state();
  }
  return std::nullopt;
}

}  // namespace tcc
