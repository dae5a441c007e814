#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/sketches/parts/default_tiles.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/sketches/parts/sketch_parts.h"
#include "support/target.h"

namespace tcc {

// The gain of copying a non-constant operand into panels of columns whenever a function runs.
// kGathers: columns that are not contiguous are gathered once, not by every tile of rows, and by
// cache lines, not all columns at each step of the reduction, where they evict each other from L1.
// kStrides: other operands lose their long strides if they exceed L1.
enum class PanelGain : uint8_t { kNone, kStrides, kGathers };

// A reduction whose results are tiled for vector registers, with the steps that its forms
// (cpu_tile.cc, rolling_tile.cc) have in common. Axes are given by their place among the spatial
// ones: the columns of a tile are the last axis with more than one value, the rows the last such
// axis before it or, where that has few, the one with most values that read the same panels. The
// first level of a split is outermost:
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
  // Returns whether the reduction is a window with a filter per column, or without a filter: no
  // operand is shared by several columns, so that more than one vector of columns gains nothing.
  // Operands that neighbouring rows share are read once, since the taps are unrolled.
  bool is_columnwise() const { return is_columnwise_; }
  // The initial tile.
  const RegisterTile& tile() const { return tile_; }
  const Expr& lanes() const { return lanes_; }
  DType dtype() const;

  int64_t Extent(size_t axis) const { return ExtentOf(block_, spatial_[axis]); }
  LoopRef Key(size_t axis) const { return BaseKey(block_.name, block_.iters[spatial_[axis]]); }
  // Returns the product of the extents of all axes except those of the tile and `but`.
  int64_t Others(std::optional<size_t> but = {}) const;
  // Returns the number of panels of columns, with the initial tile.
  int64_t Panels() const;
  // Returns the initial number of panels of columns that a piece computes in turn. The loop over
  // pieces of columns is outermost, so threads share columns if it has iterations, and share rows
  // otherwise. If activations outweigh weights, a piece has all columns: a core then reads only its
  // own rows, the ones that it wrote in the layer before. Elsewhere a piece is one panel, and a
  // core reads only its own columns of the weights. `row_pieces` counts the pieces along all other
  // axes; if they are too few for threads, columns are split all the same.
  int64_t PanelsOfPiece(int64_t row_pieces) const;
  // Returns the initial number of tiles of rows that a piece computes in turn, so that there are
  // enough pieces for threads.
  int64_t TilesOfPiece(int64_t panels_in_turn) const;

  // Makes the loops of the tile, with these initial numbers of panels and tiles in turn, and packs
  // constants into panels if the tile gains by it.
  void SplitTile(int64_t panels_in_turn, int64_t tiles_in_turn);
  // Nests the loops: `outer`, then those of the reduction, then the tile's own.
  void NestTile(std::vector<LoopRef> outer, const std::vector<LoopRef>& reduce);
  // The packed copies of constants.
  const std::vector<std::string>& panels() const { return panels_; }
  // Copies the non-constant operands into panels if that pays: inside loop `at` if no other
  // iteration of the loops around `at` uses the panel, else once before all loops. Returns the
  // largest gain.
  PanelGain CopyOthers(const std::string& reader, const LoopRef& at, bool shares_panels);
  // Splits the last of the reduction's loops where its terms are loaded in vectors: into one loop
  // over vectors and one over their lanes. Returns all loops.
  std::vector<LoopRef> SplitTerms(std::vector<LoopRef> reduce);
  // The number of terms in a vector; 1 where they are loaded one by one.
  int64_t terms() const { return terms_; }
  // Loads the terms of the reader's rows in vectors inside the second of these loops from the end,
  // if SplitTerms has split the last one; then unrolls that.
  void LoadTerms(const std::string& reader, const std::vector<LoopRef>& reduce);
  // Vectorizes blocks that have a register tile along its columns and unrolls the rest of the tile.
  void FillRegisters(const std::vector<std::string>& blocks);
  // Vectorizes and unrolls the reader of a tile in the same way.
  void FillReader(const ResultReader& reader);
  // Unrolls the taps of columnwise windows, and partitions their loop over tiles of rows, since the
  // first and last tiles have padding.
  void UnrollWindow();

  SketchState state;

 private:
  // The bytes that several pieces read.
  struct Traffic {
    double activations = 0, weights = 0;
  };
  Traffic SharedTraffic() const;
  // Returns the axis for rows: `last`, or, where that has few values, the one with most.
  size_t AxisOfRows(size_t last) const;
  // Returns the axis with most values that read the same panels, `last` among equals.
  size_t MostRows(size_t last) const;
  // Returns whether all values of the axis read the same cells of the operands that have columns.
  bool SharesColumns(size_t axis) const;
  void SplitColumns(int64_t panels_in_turn);
  void PackConstants();
  // Finds the operand whose terms are loaded in vectors: rows of it are read along the last of the
  // reduction's loops, which has whole vectors.
  void FindRowTerms();

  const Block& block_;
  const Target& target_;
  std::vector<size_t> spatial_, reduce_;
  size_t columns_ = 0;
  std::optional<size_t> rows_;
  bool is_columnwise_ = false;
  RegisterTile tile_;
  Expr registers_, lanes_;
  std::vector<std::string> panels_;
  std::string row_operand_;  // "": terms are loaded one by one
  int64_t terms_ = 1;
};

// Returns the number of terms of one result.
int64_t TermsOf(const Block& reduction);

}  // namespace tcc
