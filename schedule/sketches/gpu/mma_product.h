#pragma once

#include <optional>

#include "schedule/analysis/loop_tree.h"
#include "support/target.h"

// The contractions that tensor cores compute, and how an instruction's operands map to them.
namespace tcc {

// Who runs an instruction: a warp, on fragments in registers, or a group of four, on matrices in
// shared memory.
enum class MmaBy : uint8_t { kWarp, kGroup };

// An instruction that multiplies tiles of `rows` x depth by depth x 8, in each warp.
struct MmaRow {
  DTypeCode operand;  // of A
  MmaBy by;
  int64_t rows;  // of a tile
  int64_t depth;
  std::string_view intrinsic;
};

// An operand, with its dimensions for k and for the result's axis that it alone has.
struct MmaOperand {
  std::string buffer;
  size_t axis_dim = 0, k_dim = 0;
  size_t rank = 0;
  DType type;
  int64_t bytes = 0;  // of an element
  int64_t row = 0;    // elements along the last dimension
  // The places where it is staged: the shared buffer, the block that fills it, and the fragments'
  // buffer and block.
  std::string shared = {}, filler = {}, tile = {};
  bool along_k() const { return k_dim > axis_dim; }
  // Matrix loads transpose only 16-bit cells: lanes fetch words that are not along k one by one.
  bool by_words() const { return bytes == 4 && !along_k(); }
};

// A product that tensor cores compute; m, n and k are positions among the block's variables.
struct MmaProduct {
  const MmaRow* mma = nullptr;
  size_t m = 0, n = 0, k = 0;
  MmaOperand a, b;
};

// Returns the block as such a product. Returns nullopt if the target has no such instruction for
// it, if it lacks two operands with an own axis and k each, or if most of an instruction's work
// would be padding. Extents are known.
std::optional<MmaProduct> MmaProductOf(const Function& fn, const Block& block, MmaBy by,
                                       const Target& target);

// Returns `read` as an operand whose own axis and k are these variables of the block. Returns
// nullopt if memory is contiguous along neither dimension, or if the last dimension's size is not
// known.
std::optional<MmaOperand> MmaOperandOf(const Function& fn, const Block& block, const Access& read,
                                       size_t axis, size_t k);

// Returns the number of results that are tiled together in the largest of a function's products on
// tensor cores: the extents of m and n multiplied; 0 if there is none. `fn` is kTensor with known
// extents.
int64_t ResultsOnTensorCores(const Function& fn, const Target& target);

}  // namespace tcc
