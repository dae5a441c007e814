#pragma once

#include <optional>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// The thread along an axis that owns a cell, from the cell's place in dimension `dim`: its number
// is (place div step) mod count, or place div step if count is 0. Threads that fill a row together
// and read it again in the same steps each access their own cells only.
struct CellOwner {
  size_t dim = 0;
  ForKind axis = ForKind::kThreadIdxX;
  int64_t step = 1, count = 0;
  bool operator==(const CellOwner&) const = default;
};

// Returns the owner of `place`, which counts from the first stored index of the dimension. Matches
// c * (the only threadIdx variable in `place`) + other terms, where each other term is a multiple
// of c * (the extent of that threadIdx loop) or all the rest together stay below c; else nullopt.
// `loops` are the loops round the access.
std::optional<CellOwner> OwnerOf(const Expr& place, size_t dim,
                                 const std::vector<const For*>& loops);

}  // namespace tcc
