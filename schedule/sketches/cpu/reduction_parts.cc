#include "schedule/sketches/cpu/cpu_rules.h"

#include <algorithm>
#include <bit>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/cpu/column_reduction.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/lane_reduction.h"
#include "schedule/sketches/parts/row_reduction.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

int64_t PowerAtLeast(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
}

class ReductionParts {
 public:
  ReductionParts(const SketchState& state, const Block& block, const Target& target)
      : original_(state),
        state_(state),
        block_(block),
        target_(target),
        part_(block.name + ".part"),
        spatial_(ItersOf(block, IterKind::kSpatial)),
        reduce_(ItersOf(block, IterKind::kReduce)),
        is_row_(IsRowReduction(state.fn(), block)) {
    if (!is_row_) columns_ = ColumnsOf(state.fn(), block);
  }

  std::optional<SketchState> Build() {
    // Operands that several results use are best kept in registers, and packed.
    if (!is_row_ && (!columns_ || HasReuse(block_))) return std::nullopt;
    parts_ = CountParts();
    if (parts_ < 2 || !SplitReduction()) return std::nullopt;
    // Parts go outside: as one loop with the rows they would not be known to be independent.
    std::vector<LoopRef> outer = {OfParts(parts_loop_)};
    for (size_t i : spatial_) {
      if (columns_ != i) outer.push_back(OfParts(BaseKey(block_.name, block_.iters[i])));
    }
    bool done = is_row_ ? FillRow(outer) : FillColumns(outer);
    if (!done || !state_.Try(Parallel{outer[0]})) return std::nullopt;
    state_.MarkDone(block_.name);
    for (const Ref<Block>& block : BlocksOf(state_.fn().body)) {
      if (!FindBlock(original_.fn(), block->name).ok()) state_.MarkDone(block->name);
    }
    return state_;
  }

 private:
  // A loop of the block as a loop of its parts.
  LoopRef OfParts(const LoopRef& loop) const { return part_ + loop.substr(block_.name.size()); }

  // Below 2 where there are pieces enough, or too little to do.
  int64_t CountParts() const {
    int64_t pieces = 1;
    for (size_t i : spatial_) {
      int64_t extent = ExtentOf(block_, i);
      pieces *= columns_ == i ? CeilDivision(extent, kPieceColumns) : extent;
    }
    if (pieces >= kMinPieces) return 1;
    return std::min(kMaxReductionParts, WorkOf(block_) / kMinReductionPart);
  }

  // The loop of the reduction that is cut: the first that has enough for all parts, or the longest.
  // Vectors go along the last one of a row, which stays whole if it can.
  size_t LoopToCut() const {
    size_t longest = 0;
    for (size_t r = 0; r < reduce_.size(); ++r) {
      if (ExtentOf(block_, reduce_[r]) >= parts_) return r;
      if (ExtentOf(block_, reduce_[r]) > ExtentOf(block_, reduce_[longest])) longest = r;
    }
    return longest;
  }

  // One loop over parts, round the rest of the reduction; each part gets a result.
  bool SplitReduction() {
    size_t cut = LoopToCut();
    inside_ = KeysOf(block_, reduce_);
    LoopRef loop = inside_[cut];
    int64_t extent = ExtentOf(block_, reduce_[cut]);
    int64_t chunk = PowerAtLeast(CeilDivision(extent, parts_));
    if (chunk >= extent) return false;
    // Vectors of a row whose last part is shorter would be masked in every part: slower than whole.
    if (is_row_ && cut + 1 == reduce_.size() && extent % chunk != 0) return false;
    last_extent_ = cut + 1 == reduce_.size() ? chunk : ExtentOf(block_, reduce_.back());
    parts_loop_ = LevelKey(loop, 0);
    inside_[cut] = LevelKey(loop, 1);
    Expr size = state_.Size(inside_[cut], extent, PowersOfTwo(1, extent), chunk);
    if (!state_.Try(Split{loop, {size}})) return false;
    std::vector<LoopRef> order = {parts_loop_};
    order.insert(order.end(), inside_.begin(), inside_.begin() + static_cast<std::ptrdiff_t>(cut));
    if (cut > 0 && !state_.Try(Reorder{order})) return false;
    return state_.Try(RFactor{block_.name, parts_loop_, 0, Scope::kGlobal, part_});
  }

  bool FillRow(const std::vector<LoopRef>& outer) {
    if (outer.size() > 1 && !state_.Try(Reorder{outer})) return false;
    int64_t bytes = WholeBytes(WritesOf(block_)[0].buffer.dtype());
    return state_.Try(DecomposeReduction{part_, OfParts(inside_[0])}) &&
           ReduceInLanes(state_, {.block = part_,
                                  .loop = OfParts(inside_.back()),
                                  .extent = last_extent_,
                                  .lanes = std::max<int64_t>(target_.vector_bytes / bytes, 1)});
  }

  bool FillColumns(const std::vector<LoopRef>& outer) {
    LoopRef columns = BaseKey(block_.name, block_.iters[*columns_]);
    ColumnReduction reduction{.block = part_,
                              .rows = outer,
                              .columns = OfParts(columns),
                              .extent = ExtentOf(block_, *columns_),
                              .reduce = {}};
    for (const LoopRef& loop : inside_) reduction.reduce.push_back(OfParts(loop));
    for (size_t i : spatial_) reduction.column_dim += i > *columns_;
    if (!ReduceInColumns(state_, reduction, target_)) return false;
    // The parts' results, a vector at a time.
    int64_t start = MapLanes(reduction.extent, target_);
    Expr lanes =
        LanesOf(state_, LevelKey(columns, 1), reduction.extent, 2 * target_.FloatLanes(), start);
    return state_.Try(Split{columns, {lanes}}) &&
           state_.Try(Reorder{{parts_loop_, LevelKey(columns, 1)}}) &&
           state_.Try(Vectorize{LevelKey(columns, 1)});
  }

  const SketchState& original_;
  SketchState state_;
  const Block& block_;
  const Target& target_;
  std::string part_;
  std::vector<size_t> spatial_, reduce_;  // of the block's iteration variables
  bool is_row_;
  std::optional<size_t> columns_;  // of the block's iteration variables
  int64_t parts_ = 1;
  LoopRef parts_loop_;
  std::vector<LoopRef> inside_;  // the reduction's loops inside that
  int64_t last_extent_ = 1;      // of the last of them
};

}  // namespace

std::optional<SketchState> ScheduleReductionParts(const SketchState& state, const Block& block,
                                                  const Target& target) {
  if (!WritesTuplePlainly(block) || !HasKnownExtents(block) || HasWindow(block)) {
    return std::nullopt;
  }
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  if (reduce.empty() || (!spatial.empty() && spatial.back() > reduce.front())) return std::nullopt;
  return ReductionParts(state, block, target).Build();
}

}  // namespace tcc
