#pragma once

#include "ir/expr/function.h"

namespace tcc {

// C[b, i, j] = sum over k of A[b, i, k] * B[b, k, j], without b for one batch.
struct FewRowsShape {
  int64_t rows = 1, columns = 1, terms = 1;
  int64_t batch = 1;
  bool epilogue = false;  // max(C + D[j], 0)
  bool map = false;       // 0.5 * A is a block of its own, "scaled"
};

Function FewRowsProduct(const FewRowsShape& shape);

}  // namespace tcc
