#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

// Networks of one convolution or matrix product, for the tests of its variants.
namespace tcc {

struct ProductCase {
  const char* name;
  OpKind op;
  std::vector<int64_t> x, w, y;
  std::map<std::string, Attribute> attributes = {};
};

// A product of f32 with a constant weight, then Relu.
Graph FloatProduct(const ProductCase& c);
// An f32 input in bytes, whose product with constant bytes is brought back to bytes. Its op is one
// of integers.
Graph ByteProduct(const ProductCase& c);
// The same of signed bytes without zero points, brought back to f32 and rectified.
Graph SignedByteProduct(const ProductCase& c);
// The product of bytes of a type with a zero point, which is brought back to such bytes by an
// integer, a scale and an offset of each channel, Relu and, in between, signed bytes of another
// step. Its numbers are such that f32 rounds none of them but to bytes.
Graph NarrowedProduct(const ProductCase& c, DType bytes, int64_t zero_point);

}  // namespace tcc
