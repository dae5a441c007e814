#include <algorithm>
#include <cmath>

#include "ir/analysis/accesses.h"
#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_rules.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/compute_inline.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/rfactor.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The axes of a product of few rows: weights[.., k, j] have the columns j, other operands have the
// rows i, and results are contiguous along j.
struct FewRows {
  size_t column = 0;
  std::optional<size_t> row;   // none: one row
  std::vector<size_t> others;  // spatial axes of the weights, and axes of one value
  size_t term = 0;             // the longest reduce axis
  int64_t bytes = 0;           // of a weight
  // Cells that one load of a thread takes.
  int64_t MostVector() const { return std::min<int64_t>(Target::kWidestAccess / bytes, 4); }
};

size_t LongestTermAxis(const Block& block) {
  std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  return *std::ranges::max_element(
      reduce, [&](size_t a, size_t b) { return ExtentOf(block, a) < ExtentOf(block, b); });
}

// Returns nullopt for other blocks.
std::optional<FewRows> FewRowsOf(const Function& fn, const Block& block) {
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  bool fits = IsReduction(block) && WritesPlainly(block) && HasKnownExtents(block) &&
              HasReuse(block) && !spatial.empty() && !ItersOf(block, IterKind::kReduce).empty();
  if (!fits) return std::nullopt;
  FewRows product{
      .column = spatial.back(), .row = {}, .others = {}, .term = LongestTermAxis(block)};
  const Var& column = block.iters[product.column].var;
  const Var& term = block.iters[product.term].var;
  std::vector<Access> weights;
  for (const Access& read : ReadsOf(block)) {
    if (!IsContiguousAlong(fn, read, column)) return std::nullopt;
    if (!Uses(read, column) || !Uses(read, term)) continue;
    product.bytes = std::max<int64_t>(product.bytes, WholeBytes(read.buffer.dtype()));
    weights.push_back(read);
  }
  if (weights.empty() || ExtentOf(block, product.column) < kMinFewRowsColumns ||
      ExtentOf(block, product.term) < kMinFewRowsTerms) {
    return std::nullopt;
  }
  spatial.pop_back();
  for (size_t i : spatial) {
    bool is_shared = std::ranges::any_of(
        weights, [&](const Access& read) { return Uses(read, block.iters[i].var); });
    if (is_shared || ExtentOf(block, i) == 1) {
      product.others.push_back(i);
    } else if (product.row || ExtentOf(block, i) > kMaxFewRows) {
      return std::nullopt;
    } else {
      product.row = i;
    }
  }
  return product;
}

// Where a search starts.
struct Start {
  int64_t vector = 1, lanes = 1;    // of columns
  int64_t parts = 1, unrolled = 1;  // of the terms
};

// Returns how many columns a thread block has: a line of memory, or fewer where that leaves
// multiprocessors idle while a block streams much.
int64_t ColumnsOfBlock(const Block& block, const FewRows& product, const Target& target) {
  int64_t others = 1, terms = 1;
  for (size_t i : product.others) others *= ExtentOf(block, i);
  for (size_t i : ItersOf(block, IterKind::kReduce)) terms *= ExtentOf(block, i);
  int64_t columns = kFewRowsLine;
  auto leaves_idle = [&] {
    int64_t blocks = others * CeilDivision(ExtentOf(block, product.column), columns);
    return 5 * blocks < 4 * target.multiprocessors;
  };
  while (columns > kMinFewRowsLine && leaves_idle() &&
         terms * columns / 2 * product.bytes >= kMinFewRowsBytes) {
    columns /= 2;
  }
  return columns;
}

// Deals the terms to parts and to unrolled loads of a part. A step of all threads takes the time in
// which memory answers, or that of its loads if they are more than kFewRowsThreads threads with
// kFewRowsLoads each. Steps that do not cover the terms exactly have conditions.
void DealTerms(int64_t terms, Start& start) {
  const int64_t of_all_threads = kFewRowsThreads * kFewRowsLoads / start.lanes;
  const auto full = static_cast<double>(of_all_threads);
  double least = 0;
  for (int64_t parts = 1; parts * start.lanes <= 2 * kFewRowsThreads; ++parts) {
    if (parts * start.lanes % Target::kWarp != 0) continue;
    double threads = static_cast<double>(parts * start.lanes) / kFewRowsThreads;
    for (int64_t unrolled = 1; unrolled <= kFewRowsLoads; ++unrolled) {
      int64_t step = parts * unrolled;
      double cost = static_cast<double>(CeilDivision(terms, step)) *
                    std::max(static_cast<double>(step), full) *
                    (1 + 0.05 * std::abs(std::log2(threads)));
      if (terms % step != 0) cost *= 1.1;
      if (least > 0 && cost >= least) continue;
      least = cost;
      start.parts = parts;
      start.unrolled = unrolled;
    }
  }
}

Start StartOf(const Block& block, const FewRows& product, const Target& target) {
  Start start;
  int64_t columns = ExtentOf(block, product.column);
  start.vector = std::min(CopyLanes(columns), product.MostVector());
  int64_t groups = CeilDivision(columns, start.vector);
  start.lanes = ColumnsOfBlock(block, product, target) / start.vector;
  while (start.lanes >= 2 * groups) start.lanes /= 2;
  DealTerms(ExtentOf(block, product.term), start);
  return start;
}

class FewRowsSketch {
 public:
  FewRowsSketch(const SketchState& state, const Block& block, FewRows product, const Target& target)
      : state_(state),
        name_(block.name),
        part_(block.name + ".part"),
        product_(std::move(product)),
        start_(StartOf(block, product_, target)),
        max_threads_(target.limits.max_threads) {}

  // Returns false if a step is not legal.
  bool Build(const Block& block) {
    ResultReader reader = KeepResultLocal(state_, block);
    if (!SplitTerms(block) || !SplitResults(block) || !BindParts(block) || !AddParts(reader)) {
      return false;
    }
    state_.MarkDone(name_);
    for (const char* made : {"", ".init", ".out"}) state_.MarkDone(part_ + made);
    return true;
  }

  const SketchState& state() const { return state_; }

 private:
  // A loop of the block as a loop of its parts.
  LoopRef OfParts(const LoopRef& loop) const { return part_ + loop.substr(name_.size()); }

  const Block& BlockNamed(const std::string& name) const {
    return *FindBlock(state_.fn(), name).value().back().as<Block>();
  }

  // Neighbouring terms go to neighbouring parts, which are threads.
  bool SplitTerms(const Block& block) {
    LoopRef terms = BaseKey(name_, block.iters[product_.term]);
    int64_t extent = ExtentOf(block, product_.term);
    Expr unrolled = state_.Size(LevelKey(terms, 1), std::min<int64_t>(extent, 2 * kFewRowsLoads),
                                {}, start_.unrolled);
    parts_ = state_.Size(LevelKey(terms, 2), std::min(extent, max_threads_), {}, start_.parts);
    terms_ = OfParts(terms);
    return state_.Try(Split{terms, {unrolled, parts_}}) &&
           state_.Try(RFactor{name_, LevelKey(terms, 2), 0, Scope::kShared, part_}) &&
           state_.Try(CacheWrite{part_, part_, Scope::kLocal, part_ + ".out"});
  }

  bool SplitResults(const Block& block) {
    columns_ = BaseKey(part_, block.iters[product_.column]);
    int64_t extent = ExtentOf(block, product_.column);
    lanes_ = state_.Size(LevelKey(columns_, 1), Target::kWarp, PowersOfTwo(1, Target::kWarp),
                         start_.lanes);
    Expr vector =
        LanesOf(state_, LevelKey(columns_, 2), extent, product_.MostVector(), start_.vector);
    if (!state_.Try(Split{columns_, {lanes_, vector}})) return false;
    if (!product_.row) return true;
    rows_ = BaseKey(part_, block.iters[*product_.row]);
    int64_t rows = ExtentOf(block, *product_.row);
    return state_.Try(Split{rows_, {state_.Size(LevelKey(rows_, 1), rows, {}, rows)}});
  }

  // Orders and binds the loops of the parts, and keeps what a thread adds up in registers.
  bool BindParts(const Block& block) {
    std::vector<LoopRef> blocks;
    for (size_t i : product_.others) blocks.push_back(BaseKey(part_, block.iters[i]));
    if (product_.row) blocks.push_back(LevelKey(rows_, 0));
    blocks.push_back(LevelKey(columns_, 0));
    std::vector<LoopRef> steps;
    for (size_t i : ItersOf(block, IterKind::kReduce)) {
      if (i != product_.term) steps.push_back(BaseKey(part_, block.iters[i]));
    }
    steps.insert(steps.end(), {LevelKey(terms_, 0), LevelKey(terms_, 1)});
    LoopRef thread = LevelKey(columns_, 1);
    std::vector<LoopRef> order = blocks;
    order.insert(order.end(), {LevelKey(terms_, 2), thread});
    order.insert(order.end(), steps.begin(), steps.end());
    if (product_.row) order.push_back(LevelKey(rows_, 1));
    order.push_back(LevelKey(columns_, 2));
    if (!state_.Try(Reorder{order})) return false;
    block_ = FuseAll(state_, blocks);
    return state_.Try(Bind{block_, ForKind::kBlockIdxX}) &&
           state_.Try(Bind{LevelKey(terms_, 2), ForKind::kThreadIdxY}) &&
           state_.Try(Bind{thread, ForKind::kThreadIdxX}) &&
           state_.Try(Unroll{LevelKey(terms_, 1)}) &&
           (!product_.row || state_.Try(Unroll{LevelKey(rows_, 1)})) &&
           state_.Try(Vectorize{LevelKey(columns_, 2)}) &&
           state_.Try(DecomposeReduction{part_, steps[0]}) &&
           state_.Try(ReverseComputeAt{part_ + ".out", thread}) && VectorizeCopy();
  }

  bool VectorizeCopy() {
    const Block& copy = BlockNamed(part_ + ".out");
    std::vector<LoopRef> loops = KeysOf(copy, ItersOf(copy, IterKind::kSpatial));
    if (!state_.Try(Vectorize{loops.back()})) return false;
    loops.pop_back();
    return std::ranges::all_of(loops,
                               [&](const LoopRef& loop) { return state_.Try(Unroll{loop}); });
  }

  // Adds up the parts in order, with a thread for each result, which also runs the reader.
  bool AddParts(const ResultReader& reader) {
    if (!state_.Try(ReverseComputeAt{name_, block_})) return false;
    const Block& sum = BlockNamed(name_);
    LoopRef parts = KeysOf(sum, ItersOf(sum, IterKind::kReduce))[0];
    LoopRef results = FuseAll(state_, KeysOf(sum, ItersOf(sum, IterKind::kSpatial)));
    LoopRef thread = LevelKey(results, 2);
    int64_t unrolled = std::min(start_.parts, kFewRowsUnrolledParts);
    while (start_.parts % unrolled != 0) --unrolled;
    Expr turns = state_.Size(LevelKey(parts, 1), kFewRowsUnrolledParts, {}, unrolled);
    bool legal = state_.Try(Split{results, {parts_, lanes_}}) &&
                 state_.Try(Bind{LevelKey(results, 1), ForKind::kThreadIdxY}) &&
                 state_.Try(Bind{thread, ForKind::kThreadIdxX}) &&
                 state_.Try(Split{parts, {turns}}) && state_.Try(Unroll{LevelKey(parts, 1)}) &&
                 state_.Try(DecomposeReduction{name_, LevelKey(parts, 0)}) &&
                 state_.Try(ReverseComputeAt{reader.block, thread});
    if (!legal) return false;
    return std::ranges::all_of(reader.loops,
                               [&](const LoopRef& loop) { return state_.Try(Unroll{loop}); });
  }

  SketchState state_;
  std::string name_, part_;
  FewRows product_;
  Start start_;
  int64_t max_threads_;
  LoopRef terms_, columns_, rows_, block_;  // loops of the parts
  Expr parts_, lanes_;
};

std::optional<SketchState> Scheduled(const SketchState& state, const Block& block,
                                     const Target& target) {
  std::optional<FewRows> product = FewRowsOf(state.fn(), block);
  if (!product) return std::nullopt;
  FewRowsSketch sketch(state, block, *std::move(product), target);
  if (!sketch.Build(block)) return std::nullopt;
  return sketch.state();
}

}  // namespace

std::optional<SketchState> ScheduleFewRows(const SketchState& state, const Block& block,
                                           const Target& target) {
  if (IsReduction(block)) return Scheduled(state, block, target);
  std::vector<Access> writes = WritesOf(block);
  if (writes.size() != 1 || OnlyMapInto(state.fn(), writes[0].buffer) != &block) {
    return std::nullopt;
  }
  const Block* reader = OnlyReaderOf(state.fn(), writes[0].buffer);
  if (!reader || state.IsDone(reader->name) || !FewRowsOf(state.fn(), *reader)) {
    return std::nullopt;
  }
  std::string name = reader->name;
  SketchState next = state;
  if (!next.Try(ComputeInline{block.name})) return std::nullopt;
  Ref<Block> product = BlockAt(FindBlock(next.fn(), name).value());
  return Scheduled(next, *product, target);
}

}  // namespace tcc
