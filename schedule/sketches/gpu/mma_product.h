#pragma once

#include <optional>

#include "schedule/analysis/loop_tree.h"
#include "support/target.h"

// Which contractions tensor cores multiply, and what of them is an instruction's.
namespace tcc {

// An instruction that multiplies tiles of `rows` x depth by depth x 8.
struct MmaRow {
  DTypeCode operand;
  int sm;        // the first architecture that has it
  int64_t rows;  // of a tile
  int64_t depth;
  std::string_view intrinsic;
};

// An operand, and which of its dimensions are k and the axis of the result that it alone has.
struct MmaOperand {
  std::string buffer;
  size_t axis_dim = 0, k_dim = 0;
  size_t rank = 0;
  int64_t bytes = 0;  // of an element
  int64_t row = 0;    // elements along the last dimension
  // Where it is staged: the buffer, the block that fills it, and the fragments' buffer and block.
  std::string shared = {}, filler = {}, tile = {};
  bool along_k() const { return k_dim > axis_dim; }
};

// What is multiplied, by positions of the block's variables.
struct MmaProduct {
  const MmaRow* mma = nullptr;
  size_t m = 0, n = 0, k = 0;
  MmaOperand a, b;
};

// How the block is such a product. nullopt where the target has no instruction for it, where it has
// no operand of two axes each, or where most of an instruction's work would be padding. Extents are
// known.
std::optional<MmaProduct> MmaProductOf(const Function& fn, const Block& block,
                                       const Target& target);

// How `read` of the block is an operand whose own axis and k are those variables of the block.
// nullopt where memory is contiguous along neither of the dimensions, or their size is not known.
std::optional<MmaOperand> MmaOperandOf(const Function& fn, const Block& block, const Access& read,
                                       size_t axis, size_t k);

// The results of a function's products on tensor cores that are tiled together: of the largest, the
// extents of m and n multiplied; 0 where there is none. `fn` is kTensor with known extents.
int64_t ResultsOnTensorCores(const Function& fn, const Target& target);

}  // namespace tcc
