#include "schedule/sketches/cpu/column_reduction.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/loop_kind.h"
#include "schedule/steps/reorder.h"
#include "schedule/steps/split.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Vectors of what the reader takes over.
bool FillReader(SketchState& state, const LoopRef& loop, const Expr& lanes) {
  return state.Try(Split{loop, {lanes}}) && state.Try(Unroll{LevelKey(loop, 0)}) &&
         state.Try(Vectorize{LevelKey(loop, 1)});
}

}  // namespace

std::optional<size_t> ColumnsOf(const Function& fn, const Block& block) {
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  while (!spatial.empty() && ExtentOf(block, spatial.back()) == 1) spatial.pop_back();
  if (spatial.empty()) return std::nullopt;
  for (const Access& read : ReadsOf(block)) {
    if (!IsContiguousAlong(fn, read, block.iters[spatial.back()].var)) return std::nullopt;
  }
  return spatial.back();
}

std::optional<LoopRef> ReduceInColumns(SketchState& state, const ColumnReduction& reduction,
                                       const Target& target) {
  Ref<Block> block = BlockAt(FindBlock(state.fn(), reduction.block).value());
  std::vector<Access> results = WritesOf(*block);
  int64_t bytes = WholeBytes(results[0].buffer.dtype());
  int64_t widest = std::max<int64_t>(target.vector_bytes / bytes, 1);
  const LoopRef& columns = reduction.columns;
  Expr lanes = LanesOf(state, LevelKey(columns, 2), reduction.extent, widest, widest);
  int64_t most = std::max<int64_t>(kColumnAccumulators / static_cast<int64_t>(results.size()), 1);
  int64_t wanted = std::min(most, std::max<int64_t>(reduction.extent / widest, 1));
  Expr registers = state.Size(LevelKey(columns, 1), kMaxTileVectors, {}, wanted);
  if (!state.Try(Split{columns, {registers, lanes}})) return std::nullopt;

  std::optional<std::vector<ResultReader>> readers = KeepResults(state, *block);
  if (!readers) return std::nullopt;
  LoopRef outer = LevelKey(columns, 0);
  std::vector<LoopRef> order = reduction.rows;
  order.push_back(outer);
  order.insert(order.end(), reduction.reduce.begin(), reduction.reduce.end());
  order.insert(order.end(), {LevelKey(columns, 1), LevelKey(columns, 2)});
  if (!state.Try(Reorder{order})) return std::nullopt;
  if (!state.Try(DecomposeReduction{reduction.block, reduction.reduce[0]})) return std::nullopt;
  for (const ResultReader& reader : *readers) {
    if (!state.Try(ReverseComputeAt{reader.block, outer})) return std::nullopt;
  }
  for (const std::string& name : {reduction.block, reduction.block + ".init"}) {
    std::string part = name + columns.substr(reduction.block.size());
    if (!state.Try(Vectorize{LevelKey(part, 2)}) || !state.Try(Unroll{LevelKey(part, 1)})) {
      return std::nullopt;
    }
  }
  for (const ResultReader& reader : *readers) {
    size_t dim = reader.loops.size() - 1 - reduction.column_dim;
    if (!FillReader(state, reader.loops[dim], lanes)) return std::nullopt;
  }
  return outer;
}

std::optional<SketchState> ScheduleColumns(const SketchState& state, const Block& block,
                                           const Target& target) {
  if (!WritesTuplePlainly(block) || WritesPlainly(block) || !HasKnownExtents(block)) {
    return std::nullopt;
  }
  std::optional<size_t> columns = ColumnsOf(state.fn(), block);
  std::vector<size_t> reduce = ItersOf(block, IterKind::kReduce);
  if (!columns || reduce.empty()) return std::nullopt;
  ColumnReduction reduction{.block = block.name,
                            .rows = {},
                            .columns = BaseKey(block.name, block.iters[*columns]),
                            .extent = ExtentOf(block, *columns),
                            .reduce = KeysOf(block, reduce)};
  for (size_t i : ItersOf(block, IterKind::kSpatial)) {
    if (i < *columns) reduction.rows.push_back(BaseKey(block.name, block.iters[i]));
    if (i > *columns) ++reduction.column_dim;
  }
  SketchState next = Prepacked(state, block);
  std::optional<LoopRef> outer = ReduceInColumns(next, reduction, target);
  if (!outer) return std::nullopt;
  std::vector<LoopRef> loops = reduction.rows;
  loops.push_back(*outer);
  RunInParallel(next, block, loops);
  next.MarkDone(block.name);
  return next;
}

}  // namespace tcc
