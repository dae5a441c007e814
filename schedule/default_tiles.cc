#include "schedule/default_tiles.h"

#include <algorithm>

#include "ir/support/check.h"

namespace tcc {
namespace {

int64_t CeilDivision(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Columns of one tile, given the float lanes of a register.
int64_t ChooseColumns(int64_t columns, int64_t lanes) {
  for (int64_t registers : {2, 4, 3, 1}) {
    if (columns % (registers * lanes) == 0) return registers * lanes;
  }
  // A narrow extent is one vector whatever its length: no lane is masked.
  return columns <= 4 * lanes ? columns : 2 * lanes;
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

RegisterTile ChooseRegisterTile(int64_t rows, int64_t columns, const Target& target, DType dtype) {
  int64_t lanes = std::max<int64_t>(target.vector_bytes / std::max(dtype.bytes(), 1), 1);
  RegisterTile tile;
  tile.columns = std::max<int64_t>(ChooseColumns(columns, lanes), 1);
  int64_t registers = CeilDivision(tile.columns, lanes);
  int64_t most = std::max<int64_t>((target.vector_registers - registers - 1) / registers, 1);
  if (rows <= most) {
    tile.rows = std::max<int64_t>(rows, 1);
    return tile;
  }
  for (int64_t candidate = most; 2 * candidate >= most; --candidate) {
    if (rows % candidate == 0) {
      tile.rows = candidate;
      return tile;
    }
  }
  tile.rows = CeilDivision(rows, CeilDivision(rows, most));
  return tile;
}

int64_t MapLanes(int64_t extent, const Target& target) {
  int64_t lanes = target.FloatLanes();
  if (extent <= 4 * lanes) return std::max<int64_t>(extent, 1);
  return extent % (2 * lanes) == 0 ? 2 * lanes : lanes;
}

}  // namespace tcc
