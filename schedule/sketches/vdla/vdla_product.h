#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/sketches/vdla/vdla_tile.h"

namespace tcc {

// A block that sums products of bytes over blocks of 16 inputs and 16 outputs, as
// AcceleratorBlocksVariant makes it (graph/variants/variants.h). Positions are into its iters.
struct VdlaProduct {
  Ref<Block> block;
  std::string data_block;    // makes the operand in blocks, for this block and no other
  std::string result_block;  // the one that alone reads the sums
  Buffer data, weight, sums;
  std::vector<size_t> images;  // outer loops of one iteration a tile
  std::vector<size_t> pixels;  // at most two: rows, columns
  std::vector<size_t> taps;
  size_t input_block = 0, input = 0, output_block = 0, output = 0;
  VdlaWork work;
};

// Returns the product that a block of the function computes, or that reads what the block makes;
// nullopt if it has another form.
std::optional<VdlaProduct> FindVdlaProduct(const Function& fn, const Block& block);

}  // namespace tcc
