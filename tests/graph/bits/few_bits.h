#pragma once

#include "tests/graph/one_node.h"

// Products of integers of few bits, for the tests of bit planes.
namespace tcc {

// Numbers that are picked from a list, in a type of 8 bits, less a zero point.
struct FewNumbers {
  DType type;
  std::vector<int64_t> values;
  int64_t zero = 0;
};

// The integers low to high.
FewNumbers NumbersFrom(int64_t low, int64_t high, int64_t zero = 0);
// All integers of a number of bits.
FewNumbers NumbersOf(int bits, bool is_signed);
// A tensor of them.
Tensor Picked(const FewNumbers& numbers, const std::vector<int64_t>& shape, uint64_t seed);

struct FewBitsProduct {
  OpKind op;
  std::vector<int64_t> x, w;
  FewNumbers data;    // bounded by a Clip
  FewNumbers weight;  // a constant
  Attributes attributes = {};
};

// The product of an input "x", clipped to the data's bounds, with the weight, in f32.
Graph GraphOf(const FewBitsProduct& product);

}  // namespace tcc
