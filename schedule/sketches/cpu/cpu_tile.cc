#include "schedule/sketches/cpu/cpu_tile.h"

#include <algorithm>
#include <optional>

#include "schedule/sketches/cpu/cpu_parts.h"
#include "schedule/sketches/cpu/register_tiling.h"
#include "schedule/sketches/cpu/stepped_tile.h"
#include "schedule/steps/compute_at.h"
#include "schedule/steps/decompose_reduction.h"
#include "schedule/steps/prefetch.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// The axis that varies slower while tiles are computed one after another. With the columns outside,
// the next packed panel of a constant may be prefetched while one is used.
enum class TileOrder : uint8_t { kColumnsOutside, kRowsOutside, kPanelsAhead };

// The operands that are packed into panels of columns: only constants, packed when the model is
// linked, or also non-constant operands, copied whenever the function runs.
enum class Panels : uint8_t { kOfConstants, kOfAll };

// The initial number of panels in turn if the next one is prefetched.
constexpr int64_t kPanelsInTurn = 4;

struct TileChoice {
  TileOrder order = TileOrder::kColumnsOutside;
  Panels panels = Panels::kOfConstants;
};

struct WholeTile {
  SketchState state;
  bool prefetches = false;
  PanelGain gain = PanelGain::kNone;  // of copying non-constant operands
};

// Returns the loops over pieces, which run in parallel.
std::vector<LoopRef> OuterLoops(const RegisterTiling& t) {
  std::vector<LoopRef> outer = {LevelKey(t.Key(t.columns()), 0)};
  for (size_t s = 0; s < t.spatial().size(); ++s) {
    if (s != t.columns()) outer.push_back(t.rows() == s ? LevelKey(t.Key(s), 0) : t.Key(s));
  }
  return outer;
}

// Prefetches the next panel of columns while one is used. Returns false if there is nothing to
// prefetch.
bool PrefetchPanels(RegisterTiling& t) {
  if (t.Extent(t.columns()) <= t.tile().registers * t.tile().lanes) return false;
  const Block& block = t.block();
  const LoopRef over = LevelKey(t.Key(t.columns()), 1);
  const LoopRef at = BaseKey(block.name, block.iters[t.reduce().back()]);
  bool any = false;
  for (const std::string& panel : t.panels()) {
    any = t.state.Try(Prefetch{block.name, panel, over, at, Expr(1)}) || any;
  }
  return any;
}

// The initial numbers of panels and tiles that a piece computes in turn.
struct Piece {
  int64_t panels = 1;         // of columns
  int64_t tiles = 1;          // of rows
  bool has_all_rows = false;  // else several threads have rows of one panel
};

Piece FirstPiece(const RegisterTiling& t, const TileChoice& choice) {
  int64_t all_tiles = t.rows() ? CeilDivision(t.Extent(*t.rows()), t.tile().rows) : 1;
  Piece piece;
  piece.panels = t.PanelsOfPiece(t.Others() * all_tiles);
  piece.tiles = t.TilesOfPiece(piece.panels);
  piece.has_all_rows = piece.tiles == all_tiles;
  // A panel that is copied for its piece alone is used at once, while it is in L1.
  if (choice.panels == Panels::kOfAll && piece.has_all_rows) piece.panels = 1;
  return piece;
}

// Schedules tiles that run the whole reduction each.
WholeTile TileWhole(RegisterTiling t, const TileChoice& choice) {
  const Block& block = t.block();
  ResultReader reader = KeepResultLocal(t.state, block);
  bool ahead = choice.order == TileOrder::kPanelsAhead;
  const Piece piece = FirstPiece(t, choice);
  t.SplitTile(ahead ? std::max(kPanelsInTurn, piece.panels) : piece.panels, piece.tiles);

  std::vector<LoopRef> outer = OuterLoops(t);
  std::vector<LoopRef> tiles = {LevelKey(t.Key(t.columns()), 1)};
  if (t.rows()) tiles.push_back(LevelKey(t.Key(*t.rows()), 1));
  if (choice.order == TileOrder::kRowsOutside) std::reverse(tiles.begin(), tiles.end());
  std::vector<LoopRef> order = outer;
  order.insert(order.end(), tiles.begin(), tiles.end());
  std::vector<LoopRef> reduce = KeysOf(block, t.reduce());
  t.NestTile(order, reduce);
  t.state.Do(ReverseComputeAt{reader.block, tiles.back()});
  t.state.Do(DecomposeReduction{block.name, reduce[0]});
  PanelGain gain = PanelGain::kNone;
  if (!t.is_columnwise() && choice.panels == Panels::kOfAll) {
    gain = t.CopyOthers(block.name, outer.back(), !piece.has_all_rows);
  }
  t.FillRegisters({block.name, block.name + ".init"});
  t.FillReader(reader);
  t.UnrollWindow();
  bool prefetches = ahead && PrefetchPanels(t);
  RunInParallel(t.state, block, outer);
  return {std::move(t.state), prefetches, gain};
}

}  // namespace

std::vector<SketchState> TileForRegisters(const SketchState& state, const Block& block,
                                          const Target& target) {
  const RegisterTiling tiling(state, block, target);
  bool has_rows = tiling.rows().has_value();
  std::vector<SketchState> forks = {TileWhole(tiling, {}).state};
  if (has_rows) forks.push_back(TileWhole(tiling, {.order = TileOrder::kRowsOutside}).state);
  WholeTile ahead = TileWhole(tiling, {.order = TileOrder::kPanelsAhead});
  if (ahead.prefetches) forks.push_back(std::move(ahead.state));
  WholeTile copying = TileWhole(tiling, {.panels = Panels::kOfAll});
  switch (copying.gain) {
    case PanelGain::kNone:
      break;
    case PanelGain::kStrides:
      forks.push_back(std::move(copying.state));
      break;
    case PanelGain::kGathers: {
      // One fork that gathers is enough.
      forks.erase(forks.begin() + 1, forks.end());
      forks.insert(forks.begin(), std::move(copying.state));
      TileChoice rows_outside{.order = TileOrder::kRowsOutside, .panels = Panels::kOfAll};
      if (has_rows) forks.insert(forks.begin() + 1, TileWhole(tiling, rows_outside).state);
      break;
    }
  }
  if (GainsBySteps(tiling)) {
    bool copies = copying.gain != PanelGain::kNone;
    forks.insert(LosesByOneChain(tiling) ? forks.begin() : forks.end(),
                 TileInSteps(tiling, copies));
  }
  return forks;
}

}  // namespace tcc
