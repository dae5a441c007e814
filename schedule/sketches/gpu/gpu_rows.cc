#include "schedule/sketches/gpu/gpu_rules.h"

#include <algorithm>
#include <bit>
#include <map>

#include "ir/analysis/accesses.h"
#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/placement.h"
#include "schedule/sketches/gpu/gpu_parts.h"
#include "schedule/sketches/gpu/gpu_thresholds.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/row_reduction.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/cache.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/compute_inline.h"
#include "schedule/steps/fuse.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

enum class Between { kShared, kInline };  // the placement of the maps' elements

int64_t PowerOfTwoFrom(int64_t least) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(least, 1))));
}

class ThreadRows {
 public:
  ThreadRows(const SketchState& state, std::vector<std::string> chain, Between between,
             const Target& target)
      : state_(state),
        chain_(std::move(chain)),
        between_(between),
        busy_blocks_(BusyBlocks(target)),
        max_threads_(target.limits.max_threads) {}

  // Returns whether there are elements to keep or to recompute; else both ways are the same.
  bool HasElementsBetween() const { return has_between_; }

  std::optional<SketchState> Build() {
    if (!FindRows() || !PlaceBetween()) return std::nullopt;
    ChooseSizes();
    if (!SplitRows() || !PlaceChain()) return std::nullopt;
    for (const std::string& name : chain_) {
      if (!Spread(name)) return std::nullopt;
    }
    if (!BindBlocks()) return std::nullopt;
    for (const std::string& name : chain_) state_.MarkDone(name);
    for (const std::string& name : inlined_) state_.MarkDone(name);
    return state_;
  }

 private:
  Ref<Block> Find(const std::string& name) const {
    return BlockAt(FindBlock(state_.fn(), name).value());
  }

  // Finds the iteration variables of the last block that select the row, and the number of rows.
  bool FindRows() {
    Ref<Block> last = Find(chain_.back());
    for (const IterVar& iter : last->iters) {
      if (!AsConstant(iter.domain)) return false;
    }
    size_t count = IsReduction(*last) ? ItersOf(*last, IterKind::kSpatial).size()
                                      : RowItersOf(state_.fn(), chain_);
    if (chain_.size() > 1 && count == 0) return false;
    size_t real = 0;  // without trailing variables of extent 1
    for (size_t i = 0; i < count; ++i) {
      if (last->iters[i].kind != IterKind::kSpatial) return false;
      rows_.push_back(BaseKey(last->name, last->iters[i]));
      all_rows_ *= ExtentOf(*last, i);
      if (ExtentOf(*last, i) > 1 || i == 0) real = i + 1;
    }
    rows_.resize(real);
    if (real > 0) last_extent_ = ExtentOf(*last, real - 1);
    for (const std::string& name : chain_) {
      Ref<Block> block = Find(name);
      bool own = name == chain_.back() && !IsReduction(*block);
      if (!own && !WorksByRow(state_.fn(), *block, all_rows_)) return false;
      if (IsReduction(*block) && HasReuse(*block)) return false;
    }
    return true;
  }

  // Returns the iteration variables along a row.
  std::vector<size_t> ElementsOf(const Block& block) const {
    if (IsReduction(block)) return ItersOf(block, IterKind::kReduce);
    std::vector<size_t> elements;
    int64_t before = 1;
    for (size_t i : ItersOf(block, IterKind::kSpatial)) {
      if (before >= all_rows_ && ExtentOf(block, i) > 1) elements.push_back(i);
      before *= ExtentOf(block, i);
    }
    return elements;
  }

  int64_t RowOf(const Block& block) const {
    int64_t row = 1;
    for (size_t i : ElementsOf(block)) row *= ExtentOf(block, i);
    return row;
  }

  // Places the results of row reductions in registers, and elements in shared memory, or inlines
  // them.
  bool PlaceBetween() {
    int64_t bytes = 0;
    for (const std::string& name : chain_) {
      Ref<Block> block = Find(name);
      if (name == chain_.back() || IsReduction(*block) || RowOf(*block) == 1) continue;
      has_between_ = true;
      bytes += RowOf(*block) * WholeBytes(WritesOf(*block)[0].buffer.dtype());
    }
    row_bytes_ = bytes;
    if (bytes > kMaxSharedRowBytes && between_ == Between::kShared) return false;
    std::vector<std::string> kept;
    for (const std::string& name : chain_) {
      Ref<Block> block = Find(name);
      bool last = name == chain_.back();
      bool elements = !IsReduction(*block) && RowOf(*block) > 1;
      if (!last && elements && between_ == Between::kInline) {
        if (!state_.Try(ComputeInline{name})) return false;
        inlined_.push_back(name);
        continue;
      }
      kept.push_back(name);
      if (last) continue;
      for (const Access& write : WritesOf(*block)) {
        Scope scope = elements ? Scope::kShared : Scope::kLocal;
        if (!state_.Try(SetScope{write.buffer->name, scope})) return false;
      }
    }
    chain_ = kept;
    return true;
  }

  // Returns the widest vector along the last axis that has at most 16 bytes in every buffer of the
  // chain and divides every block's last axis.
  int64_t WidestLanes() const {
    int64_t bytes = 1, lanes = Target::kWidestAccess;
    for (const std::string& name : chain_) {
      Ref<Block> block = Find(name);
      std::vector<size_t> elements = ElementsOf(*block);
      if (elements.empty()) continue;
      const IterVar& last = block->iters[elements.back()];
      while (ExtentOf(*block, elements.back()) % lanes != 0) lanes /= 2;
      std::vector<Access> accesses = ReadsOf(*block);
      for (const Access& write : WritesOf(*block)) accesses.push_back(write);
      for (const Access& access : accesses) {
        bool vector = std::ranges::any_of(
            access.indices, [&](const Expr& index) { return UsesVar(index, last.var); });
        if (vector) bytes = std::max<int64_t>(bytes, WholeBytes(access.buffer.dtype()));
      }
    }
    return std::max<int64_t>(std::min(lanes, Target::kWidestAccess / bytes), 1);
  }

  // Returns the initial number of threads for a row of `vectors` vectors. A thread gets about
  // kRowVectors of them; if there are few rows, there are more threads.
  int64_t ThreadsFor(int64_t vectors) const {
    int64_t all = PowerOfTwoFrom(vectors);
    int64_t least = all_rows_ < busy_blocks_ ? 2 * kBlockThreads : Target::kWarp;
    int64_t most = all_rows_ < busy_blocks_ ? max_threads_ : 2 * kBlockThreads;
    int64_t threads = std::clamp(PowerOfTwoFrom(CeilDivision(vectors, kRowVectors)), least, most);
    return std::max<int64_t>(std::min(threads, all), 2);
  }

  // Chooses the sizes that all blocks of the chain share: rows per block, threads per row, steps
  // per thread.
  void ChooseSizes() {
    int64_t row = 1;
    for (const std::string& name : chain_) row = std::max(row, RowOf(*Find(name)));
    widest_ = WidestLanes();
    int64_t vectors = CeilDivision(row, widest_);
    int64_t threads = ThreadsFor(vectors);
    int64_t most = std::clamp<int64_t>(PowerOfTwoFrom(vectors), Target::kWarp, max_threads_);
    LoopRef key = chain_.back() + "/row";
    threads_ = state_.Size(LevelKey(key, 1), most, PowersOfTwo(2, most), threads);
    int64_t steps = PowerOfTwoFrom(CeilDivision(vectors, threads));
    steps_ = state_.Size(LevelKey(key, 2), kMaxLoadsInFlight, PowersOfTwo(1, kMaxLoadsInFlight),
                         std::min(steps, kMaxLoadsInFlight));
    rows_together_ = Expr(1);
    if (rows_.empty()) return;
    int64_t wanted = all_rows_ < busy_blocks_ ? Target::kWarp : kBlockThreads;
    int64_t most_rows = std::min(PowerOfTwoFrom(last_extent_), kMaxBlockRows);
    int64_t together = std::clamp<int64_t>(wanted / threads, 1, most_rows);
    while (together > 1 && together * row_bytes_ > kMaxSharedRowBytes) together /= 2;
    rows_together_ =
        state_.Size(LevelKey(rows_.back(), 1), most_rows, PowersOfTwo(1, most_rows), together);
  }

  bool SplitRows() {
    if (rows_.empty()) return true;
    if (!state_.Try(Split{rows_.back(), {rows_together_}})) return false;
    row_loops_[chain_.back()] = LevelKey(rows_.back(), 1);
    rows_.back() = LevelKey(rows_.back(), 0);
    return true;
  }

  bool PlaceChain() {
    for (size_t i = chain_.size() - 1; i-- > 0;) {
      if (!state_.Try(ComputeAt{chain_[i], rows_.back()})) return false;
      if (!FindRowLoop(chain_[i])) return false;
    }
    return true;
  }

  // Finds the loop over the block's rows in a fresh nest.
  bool FindRowLoop(const std::string& name) {
    if (IsConstant(rows_together_, 1)) return true;
    for (const IterVar& iter : Find(name)->iters) {
      LoopRef key = BaseKey(name, iter);
      StatusOr<Path> path = FindLoop(state_.fn(), key);
      if (!path.ok() || !Equal(Simplify(LoopAt(*path)->extent), rows_together_)) continue;
      row_loops_[name] = key;
      return true;
    }
    return false;
  }

  // Distributes the block's rows over threads along y, and each row over threads along x and lanes.
  bool Spread(const std::string& name) {
    Ref<Block> block = Find(name);
    auto row = row_loops_.find(name);
    if (row != row_loops_.end() && !state_.Try(Bind{row->second, ForKind::kThreadIdxY})) {
      return false;
    }
    std::vector<size_t> elements = ElementsOf(*block);
    if (elements.empty()) return true;
    std::vector<LoopRef> loops = KeysOf(*block, elements);
    LoopRef lanes = LevelKey(loops.back(), 1);
    Expr vector = LanesFor(lanes, ExtentOf(*block, elements.back()));
    if (!state_.Try(Split{loops.back(), {vector}})) return false;
    loops.back() = LevelKey(loops.back(), 0);
    LoopRef fused = loops[0];
    for (size_t i = 1; i < loops.size(); ++i) {
      if (!state_.Try(Fuse{fused, loops[i]})) return false;
      fused = FusedKey(fused, loops[i]);
    }
    return state_.Try(Split{fused, {steps_, threads_}}) &&
           state_.Try(Bind{LevelKey(fused, 2), ForKind::kThreadIdxX}) &&
           state_.Try(Unroll{LevelKey(fused, 1)}) && state_.Try(Vectorize{lanes});
  }

  // Blocks of the same extent have the same lanes, so that their threads meet their own elements.
  Expr LanesFor(const LoopRef& loop, int64_t extent) {
    auto known = lanes_.find(extent);
    if (known != lanes_.end()) return known->second;
    int64_t most = std::min(PowerOfTwoFrom(extent), std::max<int64_t>(widest_, 4));
    Expr lanes = state_.Size(loop, most, PowersOfTwo(1, most), std::min(widest_, most));
    lanes_.emplace(extent, lanes);
    return lanes;
  }

  bool BindBlocks() {
    if (rows_.empty()) return true;
    LoopRef loop = rows_[0];
    for (size_t i = 1; i < rows_.size(); ++i) {
      if (!state_.Try(Fuse{loop, rows_[i]})) return false;
      loop = FusedKey(loop, rows_[i]);
    }
    return state_.Try(Bind{loop, ForKind::kBlockIdxX});
  }

  SketchState state_;
  std::vector<std::string> chain_, inlined_;
  Between between_;
  int64_t busy_blocks_, max_threads_;
  std::vector<LoopRef> rows_;  // of the last block; the innermost is over blocks of rows
  int64_t all_rows_ = 1, last_extent_ = 1, row_bytes_ = 0, widest_ = 1;
  bool has_between_ = false;
  Expr rows_together_, threads_, steps_;
  std::map<std::string, LoopRef> row_loops_;  // by block
  std::map<int64_t, Expr> lanes_;             // by the extent that they divide
};

// Returns the blocks of the function from `first` on.
std::vector<std::string> NamesFrom(const Function& fn, const std::string& first) {
  std::vector<std::string> names;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (block->name == first || !names.empty()) names.push_back(block->name);
  }
  return names;
}

// Returns the length of the shortest prefix of `names` that contains a row reduction; 0 if there is
// none.
size_t LeastWithRowReduction(const Function& fn, const std::vector<std::string>& names) {
  std::vector<Ref<Block>> blocks = BlocksOf(fn.body);
  size_t first = blocks.size() - names.size();
  for (size_t i = first; i < blocks.size(); ++i) {
    if (IsRowReduction(fn, *blocks[i])) return i - first + 1;
  }
  return 0;
}

}  // namespace

std::vector<SketchState> ScheduleThreadRows(const SketchState& state, const Block& block,
                                            const Target& target) {
  std::vector<std::string> chain = NamesFrom(state.fn(), block.name);
  size_t least = LeastWithRowReduction(state.fn(), chain);
  if (least == 0) return {};
  for (; chain.size() >= least; chain.pop_back()) {
    if (std::ranges::any_of(chain, [&](const std::string& name) { return state.IsDone(name); })) {
      continue;
    }
    std::vector<SketchState> ways;
    for (Between between : {Between::kShared, Between::kInline}) {
      ThreadRows rows(state, chain, between, target);
      if (auto way = rows.Build()) ways.push_back(*std::move(way));
      if (!ways.empty() && !rows.HasElementsBetween()) break;
    }
    if (!ways.empty()) return ways;
  }
  return {};
}

}  // namespace tcc
