#include "schedule/sketches/cpu/sliding_rows.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/sketches/parts/block_pattern.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/split.h"
#include "support/integer_division.h"

namespace tcc {

std::optional<SlidingRows> FindSlidingRows(const RegisterTiling& tiling, const Var& buffer) {
  const Block& block = tiling.block();
  for (const Access& read : ReadsOf(block)) {
    if (!(read.buffer == buffer)) continue;
    for (size_t d = 0; d < read.indices.size(); ++d) {
      for (size_t s = 0; tiling.rows() && s < *tiling.rows(); ++s) {
        bool slides = s != tiling.columns() && tiling.Extent(s) > 1 &&
                      Slides(read.indices[d], block) &&
                      UsesVar(read.indices[d], block.iters[tiling.spatial()[s]].var);
        if (slides) return SlidingRows{buffer->name, d, s};
      }
    }
  }
  return std::nullopt;
}

LoopRef TilePieces(RegisterTiling& t, const SlidingRows& sliding, int64_t at_first,
                   std::vector<LoopRef>& outer) {
  const Block& block = t.block();
  ResultReader reader = KeepResultLocal(t.state, block);
  t.SplitTile(1, t.TilesOfPiece(1));

  LoopRef windows = t.Key(sliding.axis);
  int64_t extent = t.Extent(sliding.axis);
  int64_t start = CeilDivision(extent, std::min(at_first, extent));
  t.state.Do(Split{windows, {t.state.Size(LevelKey(windows, 1), extent, {}, start)}});
  for (size_t s = 0; s < t.spatial().size(); ++s) {
    if (s == t.columns() || t.rows() == s || s == sliding.axis) continue;
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

}  // namespace tcc
