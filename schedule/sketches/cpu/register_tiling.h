#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/sketches/cpu/panel_copy.h"
#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "support/target.h"

namespace tcc {

// A reduction whose results are tiled for vector registers, and the steps that the forms of it
// (cpu_tile.h, stepped_tile.h, rolling_tile.h) have in common. Axes are given by their place among
// the spatial ones: of a tile, the columns are the last that has more than one value, the rows the
// last before it. The first level of a split is outermost:
//
//   columns.0  columns.1  columns.2 (registers)  columns.3 (lanes)      rows.0  rows.1  rows.2
class RegisterTiling {
 public:
  // `block` WritesPlainly and has axes of both kinds, all of known extents.
  RegisterTiling(const SketchState& state, const Block& block, const Target& target);

  const Block& block() const { return block_; }
  const Target& target() const { return target_; }
  const std::vector<size_t>& spatial() const { return spatial_; }  // of the block's variables
  const std::vector<size_t>& reduce() const { return reduce_; }
  size_t columns() const { return columns_; }
  std::optional<size_t> rows() const { return rows_; }
  // A window with a filter, or none, for each column: no operand serves several columns, so that
  // registers gain nothing by more than one vector of them. What neighbouring rows share is read
  // once where the taps are unrolled.
  bool is_columnwise() const { return is_columnwise_; }
  // The one to start from.
  const RegisterTile& tile() const { return tile_; }
  const Expr& lanes() const { return lanes_; }
  DType dtype() const;

  int64_t Extent(size_t axis) const { return ExtentOf(block_, spatial_[axis]); }
  LoopRef Key(size_t axis) const { return BaseKey(block_.name, block_.iters[spatial_[axis]]); }
  // Values of all axes but those of the tile and `but`.
  int64_t Others(std::optional<size_t> but = {}) const;
  // Panels of columns there are, with the tile to start from.
  int64_t Panels() const;
  // Panels of columns that are computed in turn, to start from. The loop over pieces of columns is
  // outermost, so threads share columns if it has iterations, and share rows otherwise. Where
  // activations outweigh weights a piece has all columns: a core then reads only its own rows, the
  // ones that it wrote in the layer before. Elsewhere a piece is one panel, and a core reads only
  // its own columns of the weights. `row_pieces` counts the pieces along all other axes; if they
  // are too few for threads, columns are split all the same.
  int64_t PanelsOfPiece(int64_t row_pieces) const;
  // Tiles of rows that are computed in turn, so that there are pieces enough for threads.
  int64_t TilesOfPiece(int64_t panels_in_turn) const;

  // Makes the loops of the tile, to start from so many panels of columns and tiles of rows in turn,
  // and packs constants into panels where that tile gains by it.
  void SplitTile(int64_t panels_in_turn, int64_t tiles_in_turn);
  // Nests the loops: `outer`, then those of the reduction, then the tile's own.
  void NestTile(std::vector<LoopRef> outer, const std::vector<LoopRef>& reduce);
  // Copies of constants in panels.
  const std::vector<std::string>& panels() const { return panels_; }
  // What varies, copied into panels where it gains: those of no use to other iterations of the
  // loops round `at` by whoever uses them, in the loop `at`, others once. The most gained.
  PanelGain CopyOthers(const std::string& reader, const LoopRef& at, bool shares_panels);
  // Of blocks that have a tile of registers: vectors along its columns, the rest unrolled.
  void FillRegisters(const std::vector<std::string>& blocks);
  // The reader of a tile has its loops as well.
  void FillReader(const ResultReader& reader);
  // The taps of columnwise windows are unrolled; their first and last tiles of rows, which have
  // padding, are code of their own.
  void UnrollWindow();

  SketchState state;

 private:
  // Bytes that several pieces read.
  struct Traffic {
    double activations = 0, weights = 0;
  };
  Traffic SharedTraffic() const;
  void SplitColumns(int64_t panels_in_turn);
  void PackConstants();

  const Block& block_;
  const Target& target_;
  std::vector<size_t> spatial_, reduce_;
  size_t columns_ = 0;
  std::optional<size_t> rows_;
  bool is_columnwise_ = false;
  RegisterTile tile_;
  Expr registers_, lanes_;
  std::vector<std::string> panels_;
};

// Terms of a result.
int64_t TermsOf(const Block& reduction);

}  // namespace tcc
