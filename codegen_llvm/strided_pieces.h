#pragma once

#include <cstdint>
#include <vector>

#include "codegen_llvm/llvm_forward.h"

namespace tcc {

// The largest stride, in cells per lane, that is loaded in pieces; beyond it most loaded cells are
// unused. Windows of strides 5 to 7 took a third to two thirds of the time of gathers, in vectors
// of 16, 8 and 2 lanes.
inline constexpr int64_t kMaxPickedStride = 8;
// The same limit for bytes, where a vector has so many lanes that LLVM takes seconds to pick them,
// and for 8 and 16 bits under a mask.
inline constexpr int64_t kMaxPickedBytes = 4;
inline constexpr int64_t kMaxPickedNarrow = 2;

// A strided access as contiguous pieces: vectors of `lanes` (2 or more) cells that cover all cells
// from the first lane's to the last lane's, `stride` > 1 cells per lane. No piece reaches beyond
// the last lane's cell, where memory may end: the last piece overlaps the one before. Loading the
// pieces and picking lanes is faster than a gather, which makes one access per lane.
struct StridedPieces {
  int lanes = 2;
  int stride = 2;

  int Count() const;
  // Returns the first cell of a piece.
  int Begin(int piece) const;
  // Returns the mask of a piece's cells, given the mask of lanes.
  llvm::Value* MaskOf(llvm::IRBuilderBase& b, llvm::Value* mask, int piece) const;
  // Returns the lanes, picked from the values of the pieces.
  llvm::Value* Pick(llvm::IRBuilderBase& b, const std::vector<llvm::Value*>& pieces) const;

 private:
  int Span() const { return stride * (lanes - 1) + 1; }
};

}  // namespace tcc
