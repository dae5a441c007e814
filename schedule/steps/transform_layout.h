#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Stores the cells of a buffer in another order, block by block. Accesses keep their indices.
//
//   allocate B: f32[K, N]     -->     allocate B: f32[K, N] blocks [1 by 32]
//                                       strides for the order n div 32, k, n mod 32
//
// Stored dimensions are those of the shape, then the inner part of each block in order of the list;
// `order` lists all of them, the largest stride first. A dimension that its factor does not divide
// is padded up. The order of dimensions 1, 0, 2 above packs panels of 32 columns.
struct TransformLayout {
  std::string buffer;
  std::vector<BlockFactor> blocks;  // factors >= 1; they may hold Tile variables
  std::vector<int64_t> order;
  auto Fields() { return std::tie(buffer, blocks, order); }
};

// Refused: an unknown buffer; a parameter; a buffer that has a layout already or is circular; a
// block of a dimension that is not there; a factor that is provably below 1; an order that is no
// permutation of the stored dimensions.
StatusOr<Constraints> CheckTransformLayout(const Function& fn, const TransformLayout& step);
Function ApplyTransformLayout(const Function& fn, const TransformLayout& step);

}  // namespace tcc
