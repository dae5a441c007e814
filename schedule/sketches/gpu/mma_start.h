#pragma once

#include <vector>

#include "schedule/sketches/gpu/mma_product.h"

// The initial sizes of the search for a product on tensor cores, picked from its extents.
namespace tcc {

// The distance of rows of words that lanes fetch one by one, modulo the banks: lanes read eight
// neighbours in each of four rows, which together fill the banks.
inline constexpr int64_t kMmaWordsApart = 8;

// The numbers of a thread block's warps along m and n, and of each one's tiles of 16 rows and of 8
// columns. Four neighbours along m are a group.
struct MmaLevels {
  int64_t m_warps, n_warps, m_tiles, n_tiles;
  int64_t rows() const { return m_warps * m_tiles * 16; }
  int64_t columns() const { return n_warps * n_tiles * 8; }
};

struct MmaStart {
  MmaLevels levels;
  int64_t parts = 1;       // of the reduction
  int64_t step_bytes = 0;  // that one step of the reduction takes of each row
  int64_t stages = 2;      // the steps in shared memory at a time
};

// Returns the starts, best first. A warp's product has one that computes the reduction in parts,
// unless tiles of the results alone keep every multiprocessor busy or parts would be short; then
// the largest tile that occurs often enough and is not mostly padding, else a small one. A group's
// product has the tile that is expected to take least time, in parts and whole.
std::vector<MmaStart> MmaStarts(const Block& block, const MmaProduct& product,
                                const Target& target);

}  // namespace tcc
