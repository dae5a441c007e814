#pragma once

#include <optional>

#include "ir/expr/expr.h"

namespace tcc {

// Words that are made of four neighbouring bytes each, the first byte the lowest, lane after lane:
//
//   bit_or of bit_and(i32(b[4 i + n]), 255) << 8 n, n from 0 to 3
struct PackedBytes {
  Var buffer;  // b
  Expr first;  // the index of the lowest byte of all
};

// Returns the bytes if the call is such a bit_or.
std::optional<PackedBytes> MatchPackedBytes(const Call& call);

}  // namespace tcc
