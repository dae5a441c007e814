#pragma once

#include <string>
#include <vector>

#include "ir/function.h"
#include "schedule/default_tiles.h"

namespace tcc {

// A constant operand of a tiled reduction and the layout in which it is read from front to back.
struct PackedOperand {
  std::string buffer;
  int dim = 0;                 // the dimension that the tile's columns index
  std::vector<int64_t> order;  // of the stored dimensions, the columns of a panel last
};

// The constant parameters that `block`, a reduction, reads at its iteration variable `column` and
// that a copy in panels of the tile's width would bring into the order of the reduce loops. Not
// those that are in that order as they are, and not where padding adds more than a quarter.
std::vector<PackedOperand> ConstantPanels(const Function& fn, const Block& block, size_t column,
                                          const RegisterTile& tile);

}  // namespace tcc
