#pragma once

#include <string>

#include "ir/expr/function.h"

namespace tcc {

// A product of matrices, as an operator is lowered to it.
struct ProductShape {
  int64_t rows = 64, columns = 32, depth = 32;
  std::string type = "f16", sum = "f32";
  // Indices of the operands, over b, i, j and k, and their shapes.
  std::string a = "i, k", b = "k, j";
  int64_t batch = 0;      // 0: no such axis
  bool constant = false;  // B is
  bool rounded = true;    // with a bias, to the operands' type
  bool narrowed = false;  // A is f32, and made narrow by a map
  // What multiplies f32, as graph/variants/round_operands.cc writes it: "" for plain products,
  // "tf32" or "3xtf32"; "tf32 of a", "tf32 of b": that operand is f32, the other one of type tf32.
  std::string tf32 = "";
};

// Blocks "narrow", "mm" and "out", as far as they are asked for; parameters A, B, D (the bias) and
// C.
Function ProductFunction(const ProductShape& shape);

}  // namespace tcc
