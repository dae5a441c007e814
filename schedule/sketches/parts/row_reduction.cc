#include "schedule/sketches/parts/row_reduction.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/placement.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/lane_reduction.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/fuse.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/split.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Neighbours along `row` are neighbours in memory, and rows do not overlap as windows do.
bool IsInOrder(const Function& fn, const Block& block, const Access& read, const Var& row) {
  return StrideAlong(fn, read, row) == 1 &&
         std::ranges::none_of(read.indices, [&](const Expr& index) {
           return UsesVar(index, row) && Slides(index, block);
         });
}

// The row of one instance of ScheduleRows.
class RowSchedule {
 public:
  RowSchedule(const SketchState& state, const Block& block, const Target& target)
      : original_(state), first_(block.name), target_(target) {}

  std::optional<SketchState> Build() {
    std::vector<std::string> names;
    for (const Ref<Block>& block : BlocksOf(original_.fn().body)) names.push_back(block->name);
    auto first = std::ranges::find(names, first_);
    for (auto last = names.end(); --last != first;) {
      if (std::optional<SketchState> state = Chain({first, last + 1})) return state;
    }
    return Alone();
  }

 private:
  static Ref<Block> Find(const SketchState& state, const std::string& name) {
    return BlockAt(FindBlock(state.fn(), name).value());
  }

  static std::vector<LoopRef> RowLoops(const SketchState& state,
                                       const std::vector<std::string>& chain) {
    Ref<Block> last = Find(state, chain.back());
    std::vector<LoopRef> loops;
    for (size_t i = 0; i < RowItersOf(state.fn(), chain); ++i) {
      loops.push_back(BaseKey(last->name, last->iters[i]));
    }
    return loops;
  }

  // Rows that are done together: a number that divides them, if there is one.
  static int64_t RowsAtOnce(int64_t rows) {
    for (int64_t together : {4, 3, 2}) {
      if (rows % together == 0) return together;
    }
    return rows < 4 ? 1 : 4;
  }

  // All blocks of the chain in the row loop of the last one, which is a map.
  std::optional<SketchState> Chain(const std::vector<std::string>& chain) const {
    SketchState state = original_;
    Ref<Block> last = Find(state, chain.back());
    if (!ItersOf(*last, IterKind::kReduce).empty() || !HasKnownExtents(*last)) return std::nullopt;
    std::vector<LoopRef> rows = RowLoops(state, chain);
    if (rows.empty() || rows.size() >= last->iters.size()) return std::nullopt;
    int64_t work = WorkOf(*last);
    int64_t count = 1;
    for (size_t i = 0; i < rows.size(); ++i) count *= ExtentOf(*last, i);
    int64_t together = 1;
    for (size_t i = rows.size(); i < last->iters.size(); ++i) together *= ExtentOf(*last, i);
    together = together > kMaxInterleavedRow ? 1 : RowsAtOnce(ExtentOf(*last, rows.size() - 1));
    if (together > 1) {
      int64_t most = std::min<int64_t>(ExtentOf(*last, rows.size() - 1), kMaxInterleavedRows);
      Expr free = state.Size(LevelKey(rows.back(), 1), most, {}, together);
      if (!state.Try(Split{rows.back(), {free}})) return std::nullopt;
      rows.back() = LevelKey(rows.back(), 0);
    }
    for (size_t i = chain.size() - 1; i-- > 0;) {
      Ref<Block> block = Find(state, chain[i]);
      if (!WorksByRow(state.fn(), *block, count) || !state.Try(ComputeAt{chain[i], rows.back()})) {
        return std::nullopt;
      }
    }
    for (const std::string& name : chain) {
      if (!Fill(state, name, together > 1 ? rows.size() - 1 : kNoRow)) return std::nullopt;
    }
    if (!ParallelRows(state, rows, work * static_cast<int64_t>(chain.size()))) return std::nullopt;
    return Marked(state, chain);
  }

  // With the blocks of the chain done, and those that its steps have made.
  SketchState Marked(SketchState state, const std::vector<std::string>& chain) const {
    for (const std::string& name : chain) state.MarkDone(name);
    for (const Ref<Block>& block : BlocksOf(state.fn().body)) {
      if (!IsBlockName(original_.fn(), block->name)) state.MarkDone(block->name);
    }
    return state;
  }

  // The reduction alone, or with the map that takes over its results one by one.
  std::optional<SketchState> Alone() const {
    SketchState state = original_;
    Ref<Block> block = Find(state, first_);
    if (!WritesTuplePlainly(*block)) return std::nullopt;
    std::vector<LoopRef> rows = KeysOf(*block, ItersOf(*block, IterKind::kSpatial));
    int64_t work = WorkOf(*block);
    if (rows.empty()) {
      if (!Fill(state, first_)) return std::nullopt;
      return Marked(state, {first_});
    }
    std::optional<std::vector<ResultReader>> readers = KeepResults(state, *block);
    if (!readers) return std::nullopt;
    for (const ResultReader& reader : *readers) {
      if (!state.Try(ReverseComputeAt{reader.block, rows.back()})) return std::nullopt;
    }
    if (!Fill(state, first_) || !ParallelRows(state, rows, work)) return std::nullopt;
    return Marked(state, {first_});
  }

  // Vectors along the row. `row`: the iteration variable over rows that are done together.
  static constexpr size_t kNoRow = SIZE_MAX;
  bool Fill(SketchState& state, const std::string& name, size_t row = kNoRow) const {
    Ref<Block> block = Find(state, name);
    SetScopes(state, *block);
    if (IsReduction(*block)) return ReduceRow(state, *block, row);
    size_t last = block->iters.size() - 1;
    LoopRef loop = BaseKey(name, block->iters[last]);
    int64_t extent = ExtentOf(*block, last);
    int64_t start = MapLanes(extent, target_);
    if (extent <= 1) return true;
    Expr lanes = LanesOf(state, LevelKey(loop, 1), extent, 2 * target_.FloatLanes(), start);
    bool is_short = extent <= kMaxUnrolledVectors * start;
    return state.Try(Split{loop, {lanes}}) && state.Try(Vectorize{LevelKey(loop, 1)}) &&
           (!is_short || state.Try(Unroll{LevelKey(loop, 0)}));
  }

  // A row's results are registers; what it keeps of each element is not.
  static void SetScopes(SketchState& state, const Block& block) {
    for (const Access& write : WritesOf(block)) {
      const std::vector<Expr>& sizes = FindBuffer(state.fn(), write.buffer)->window.size;
      bool one = !sizes.empty() && std::ranges::all_of(sizes, [](const Expr& size) {
        return IsConstant(Simplify(size), 1);
      });
      if (one) state.Try(SetScope{write.buffer->name, Scope::kLocal});
    }
  }

  bool ReduceRow(SketchState& state, const Block& block, size_t row) const {
    size_t last = ItersOf(block, IterKind::kReduce).back();
    bool has_rows = row < block.iters.size() && block.iters[row].kind == IterKind::kSpatial &&
                    ExtentOf(block, row) > 1;
    DType dtype = WritesOf(block)[0].buffer.dtype();
    return ReduceInLanes(state, {.block = block.name,
                                 .loop = BaseKey(block.name, block.iters[last]),
                                 .extent = ExtentOf(block, last),
                                 .lanes = std::max(target_.vector_bytes / WholeBytes(dtype), 1),
                                 .rows = has_rows ? BaseKey(block.name, block.iters[row]) : ""});
  }

  static bool ParallelRows(SketchState& state, const std::vector<LoopRef>& rows, int64_t work) {
    if (work < kParallelWork) return true;
    LoopRef loop = rows[0];
    for (size_t i = 1; i < rows.size(); ++i) {
      if (!state.Try(Fuse{loop, rows[i]})) return false;
      loop = FusedKey(loop, rows[i]);
    }
    return state.Try(Parallel{loop});
  }

  const SketchState& original_;
  std::string first_;
  const Target& target_;
};

}  // namespace

size_t RowItersOf(const Function& fn, const std::vector<std::string>& chain) {
  Ref<Block> last = BlockAt(FindBlock(fn, chain.back()).value());
  size_t rows = 0;
  for (const std::string& name : chain) {
    Ref<Block> block = BlockAt(FindBlock(fn, name).value());
    if (!IsReduction(*block)) continue;
    for (const Access& read : ReadsOf(*last)) {
      if (!Writes(block->body, read.buffer)) continue;
      for (size_t i = 0; i < last->iters.size(); ++i) {
        if (Uses(read, last->iters[i].var)) rows = std::max(rows, i + 1);
      }
    }
  }
  return rows;
}

bool WorksByRow(const Function& fn, const Block& block, int64_t rows) {
  if (!HasKnownExtents(block)) return false;
  if (IsReduction(block) ? !IsRowReduction(fn, block) : IsOrdered(block)) return false;
  int64_t count = 1;
  for (size_t i : ItersOf(block, IterKind::kSpatial)) count *= ExtentOf(block, i);
  return IsReduction(block) ? count == rows : count >= rows;
}

bool IsRowReduction(const Function& fn, const Block& block) {
  const auto* reduce = block.body.as<Reduce>();
  std::vector<size_t> reduced = ItersOf(block, IterKind::kReduce);
  if (!reduce || reduced.empty() || reduce->init != ReduceInit::kFirstInstance) return false;
  if (!HasKnownExtents(block) || ExtentOf(block, reduced.back()) < kMinRow) return false;
  const Var& row = block.iters[reduced.back()].var;
  bool contiguous = false;
  for (const Access& read : ReadsOf(block)) {
    bool whole = true;
    for (size_t i = 0; i < block.iters.size(); ++i) {
      whole = whole && (ExtentOf(block, i) == 1 || Uses(read, block.iters[i].var));
    }
    bool in_order = IsInOrder(fn, block, read, row);
    contiguous = contiguous || (whole && in_order);
    // Lanes along the row would gather.
    if (Uses(read, row) && !in_order) return false;
  }
  return contiguous;
}

std::optional<SketchState> ScheduleRows(const SketchState& state, const Block& block,
                                        const Target& target) {
  return RowSchedule(state, block, target).Build();
}

}  // namespace tcc
