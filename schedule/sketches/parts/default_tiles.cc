#include "schedule/sketches/parts/default_tiles.h"

#include <algorithm>
#include <limits>

#include "schedule/sketches/parts/cpu_thresholds.h"
#include "support/check.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Returns the largest divisor of `extent` from `most` down to half of it, or else the length that
// evens out the tail.
int64_t EvenPart(int64_t extent, int64_t most) {
  if (extent <= most) return std::max<int64_t>(extent, 1);
  for (int64_t part = most; 2 * part >= most; --part) {
    if (extent % part == 0) return part;
  }
  return CeilDivision(extent, CeilDivision(extent, most));
}

// Returns the rows of a tile of `registers` vectors per row, at most `most`, with the least total
// cost of all tiles; the fewest rows win a tie.
int64_t CheapestRows(int64_t extent, int64_t registers, int64_t most) {
  if (extent <= most) return std::max<int64_t>(extent, 1);
  auto cost = [&](int64_t rows) {
    return std::max(rows * registers, kResultsInFlight) + kTileCost;
  };
  int64_t best = 1, least = std::numeric_limits<int64_t>::max();
  for (int64_t rows = 1; rows <= most; ++rows) {
    int64_t tail = extent % rows;
    int64_t total = extent / rows * cost(rows) + (tail > 0 ? cost(tail) + kTailCost : 0);
    if (total < least) best = rows;
    least = std::min(least, total);
  }
  return best;
}

// Returns the number of registers of `lanes` that pads the columns least. A single register loads
// as often as it computes.
RegisterTile ChoosePadded(int64_t columns, int64_t lanes) {
  RegisterTile best;
  double least = 0;
  for (int64_t registers : {2, 4, 3, 5, 1}) {
    int64_t width = registers * lanes;
    double cost = static_cast<double>(CeilDivision(columns, width) * width);
    if (registers == 1) cost *= 1.06;
    if (least == 0 || cost < least) best = {1, registers, lanes};
    least = least == 0 ? cost : std::min(least, cost);
  }
  return best;
}

// Returns the registers and lanes of the tile's columns, for vectors of at most `most` lanes.
// Masked vectors beat narrower ones that divide the columns even where masks are no part of
// instructions: a tile's sums need none (left_out_lanes.h), and 3x3 over 12 columns takes 0.8 of
// the time in two vectors of 8 lanes that it takes in three of 4.
RegisterTile ChooseColumns(int64_t columns, int64_t most, const Target& target) {
  // A narrow extent is one vector of that length, whatever it is: 3x3 over 12 columns takes 0.41 of
  // the time in one of 12 lanes that it takes in three of 4.
  if (columns <= most) return {1, 1, std::max<int64_t>(columns, 1)};
  if (target.cheap_masks || columns % most != 0) return ChoosePadded(columns, most);
  for (int64_t registers : {2, 4, 3, 5}) {
    if (columns % (registers * most) == 0) return {1, registers, most};
  }
  return {1, 1, most};
}

}  // namespace

int64_t ExtentOf(const Block& block, size_t iter) {
  std::optional<int64_t> extent = AsConstant(block.iters[iter].domain);
  TCC_CHECK(extent.has_value()) << "extent of '" << block.iters[iter].var->name << "' of block '"
                                << block.name << "' is not known";
  return *extent;
}

int64_t WorkOf(const Block& block) {
  double work = 1;
  for (size_t i = 0; i < block.iters.size(); ++i) work *= static_cast<double>(ExtentOf(block, i));
  return static_cast<int64_t>(std::min(work, 9e15));
}

RegisterTile ChooseRegisterTile(int64_t rows, int64_t columns, const Target& target, DType dtype,
                                RowTerms terms) {
  int64_t widest = std::max<int64_t>(target.vector_bytes / WholeBytes(dtype), 1);
  RegisterTile tile = ChooseColumns(columns, widest, target);
  // Beside the sums: a row of the other operand, one number, and a mask that is a vector.
  bool has_mask = columns % (tile.registers * tile.lanes) != 0 && !target.cheap_masks;
  const bool in_vectors = terms == RowTerms::kInVectors;
  int64_t others = tile.registers + (has_mask ? 1 : 0) + (in_vectors ? 0 : 1);
  int64_t registers_of_row = tile.registers + (in_vectors ? 1 : 0);
  int64_t most = std::max<int64_t>((target.vector_registers - others) / registers_of_row, 1);
  tile.rows = CheapestRows(rows, tile.registers, most);
  return tile;
}

RegisterTile ChooseWindowTile(int64_t taps, int64_t rows, int64_t columns, const Target& target,
                              DType dtype) {
  int64_t widest = std::max<int64_t>(target.vector_bytes / WholeBytes(dtype), 1);
  RegisterTile tile{EvenPart(rows, kWindowRows), 1,
                    std::min(std::max<int64_t>(columns, 1), widest)};
  bool is_masked = columns > widest && target.cheap_masks;
  if (2 * taps + kWindowRows <= target.vector_registers && columns % (2 * widest) == 0) {
    return {EvenPart(rows, kWindowRows / 2), 2, widest};
  }
  for (int64_t lanes = widest; !is_masked && lanes * 4 >= widest && lanes >= 2; lanes /= 2) {
    if (columns % lanes == 0) return {tile.rows, 1, lanes};
  }
  return tile;
}

int64_t ChooseReductionStep(const RegisterTile& tile, int64_t extent, int64_t others,
                            const Target& target, DType dtype) {
  int64_t columns = tile.registers * tile.lanes;
  int64_t bytes = WholeBytes(dtype);
  // The partial results and those that they are added to.
  int64_t rest = std::max<int64_t>(target.l1_bytes - 2 * tile.rows * columns * bytes, 0);
  int64_t most = rest / ((tile.rows + columns) * std::max<int64_t>(others, 1) * bytes);
  return EvenPart(extent, std::max<int64_t>(most, 1));
}

int64_t MapLanes(int64_t extent, const Target& target) {
  int64_t lanes = target.FloatLanes();
  if (extent < lanes) return std::max<int64_t>(extent, 1);
  for (int64_t divisor : {2 * lanes, lanes, lanes / 2}) {
    if (extent % divisor == 0) return divisor;
  }
  return lanes;
}

int64_t CopyLanes(int64_t extent) {
  return extent % 4 == 0 ? 4 : extent % 2 == 0 ? 2 : 1;
}

}  // namespace tcc
