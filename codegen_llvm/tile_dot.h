#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr/stmt.h"

// Products of tiles of words (schedule/analysis/tensor_intrinsics.cc) as instructions see them.
namespace tcc {

// Rows of as many neighbours of a buffer of 4-byte elements.
struct Tile {
  Var buffer;
  Expr first;      // the index of its first element
  int64_t stride;  // from row to row, in elements
};

// c += a * b where the condition holds (null: always). The rows of `b` are words with AMX, columns
// with ARM's smmla.
struct TileDot {
  ScalarOp dot;
  Tile a, b, c;
  Expr condition = {};
};

// Returns the tiles of a call; nullopt unless it is a dot of tiles of that edge
// (support/word_tile.h) with neighbours as the elements of each row.
std::optional<TileDot> ReadTileDot(const IntrinsicCall& call, int64_t edge);

}  // namespace tcc
