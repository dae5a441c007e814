#pragma once

#include <optional>
#include <vector>

#include "ir/expr/stmt.h"

namespace tcc {

// Which thread along an axis a place in dimension `dim` of a buffer belongs to: number
// (place div step) mod count, or place div step where count is 0. Threads that fill a row together
// and read it again in the same steps each meet their own cells.
struct CellOwner {
  size_t dim = 0;
  ForKind axis = ForKind::kThreadIdxX;
  int64_t step = 1, count = 0;
  bool operator==(const CellOwner&) const = default;
};

// The owner of `place`, counted from the begin of what is stored: c * (the one threadIdx loop in
// it) + others, each of which is a multiple of c * (extent of that loop) or all together below c.
// nullopt for other forms. `loops`: those round the access.
std::optional<CellOwner> OwnerOf(const Expr& place, size_t dim,
                                 const std::vector<const For*>& loops);

}  // namespace tcc
