#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr/warp_instruction.h"
#include "ir/simplify/interval.h"
#include "support/status.h"

// A lowered call of an intrinsic as its tile: the loops that it stands for, and their one store.
namespace tcc {

struct CallTile {
  std::string intrinsic;
  std::vector<Var> loops;  // outermost first
  std::vector<int64_t> extents;
  const Store* store = nullptr;
};

// Error (Unsupported): a loop has a free extent, or the tile is cut by a condition.
StatusOr<CallTile> TileOf(const IntrinsicCall& call);

// Returns the error that an intrinsic's call has no text, and why.
template <typename... Args>
Status RefuseCall(const std::string& intrinsic, fmt::format_string<Args...> format,
                  Args&&... args) {
  return Unsupported("intrinsic '{}': {}", intrinsic,
                     fmt::format(format, std::forward<Args>(args)...));
}

// An index as a function of two of the tile's loops; the others are at 0.
class TileIndex {
 public:
  // `tile` must outlive the index.
  TileIndex(const CallTile& tile, std::array<size_t, 2> axes, const Expr& index,
            const Bounds& bounds);

  const Expr& index() const { return index_; }
  int64_t extent(int dim) const { return tile_.extents[axes_[static_cast<size_t>(dim)]]; }

  // Returns nullopt if the index has other variables.
  std::optional<int64_t> At(int64_t row, int64_t column) const;
  Expr At(const Expr& row, const Expr& column, const Bounds& bounds) const;

 private:
  const CallTile& tile_;
  std::array<size_t, 2> axes_;
  Expr index_;
};

// C[i, j] += A[i, k] * B[k, j] over loops i, j and k.
struct ProductTile {
  CallTile tile;
  const Load* a = nullptr;
  const Load* b = nullptr;
};

// Error (Unsupported): as TileOf; the tile adds something else than products.
StatusOr<ProductTile> ProductTileOf(const IntrinsicCall& call);

// The words of a warp's buffer that hold a tile. A word is one 32-bit register in each lane.
struct FragmentWords {
  Var buffer;
  int64_t word = 0;   // the tile's first word
  int64_t words = 0;  // the number of words of the tile
};

// Error (Unsupported): a cell does not lie where the fragment has it.
StatusOr<FragmentWords> FragmentAt(const CallTile& tile, const Var& buffer, const TileIndex& index,
                                   Fragment fragment);

// Returns the elements of a buffer that one word holds.
int64_t ElementsOfWord(const Var& buffer);

}  // namespace tcc
