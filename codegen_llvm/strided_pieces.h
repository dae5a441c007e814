#pragma once

#include <cstdint>
#include <vector>

#include "codegen_llvm/llvm_forward.h"

namespace tcc {

// Beyond that many cells a lane, most of what pieces load is not wanted. Windows of strides 5 to 7
// took a third to two thirds of the time that gathers did, in vectors of 16, 8 and 2 lanes.
inline constexpr int64_t kMaxPickedStride = 8;
// The same of bytes, of which a vector has so many that to pick them takes LLVM seconds, and of 8
// and 16 bits under a mask.
inline constexpr int64_t kMaxPickedBytes = 4;
inline constexpr int64_t kMaxPickedNarrow = 2;

// All cells from the first lane's to the last one's, `stride` > 1 of them a lane, as vectors of as
// many cells as there are lanes (2 or more). None reaches further, where memory may end: the last
// one overlaps the one before. Loading them and picking lanes is faster than a gather, which is an
// access a lane.
struct StridedPieces {
  int lanes = 2;
  int stride = 2;

  int Count() const;
  // The first cell of a piece.
  int Begin(int piece) const;
  // Of a mask of lanes, that of the piece's cells.
  llvm::Value* MaskOf(llvm::IRBuilderBase& b, llvm::Value* mask, int piece) const;
  // The lanes, of the pieces' values.
  llvm::Value* Pick(llvm::IRBuilderBase& b, const std::vector<llvm::Value*>& pieces) const;

 private:
  int Span() const { return stride * (lanes - 1) + 1; }
};

}  // namespace tcc
