#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Gives an operand or a result of a block a copy in the block's own iteration space: one dimension
// per variable that its indices use, in the block's order.
//
//   conv: .. X[c, 2*y + ky, 2*x + kx] ..  -->  for y, x, c, ky, kx {
//                                                X_r[y, x, c, ky, kx] = X[c, 2*y + ky, 2*x + kx] }
//                                              conv: .. X_r[y, x, c, ky, kx] ..
//
// So a window becomes a plain dimension (im2col), and tiles of the copy are boxes whatever the
// indices were: where a convolution is written as a matrix product, the copy placed in its tile
// loop makes it an implicit GEMM. Where the block's predicate fails, the copy holds 0. A result is
// written back after the block's nest.
struct ReIndex {
  std::string block;
  std::string operand;  // a buffer that the block reads, or writes
  Scope scope = Scope::kGlobal;
  std::string name;  // the copy's block and buffer
  auto Fields() { return std::tie(block, operand, scope, name); }
};

// Refused: an unknown block or buffer; a name in use; a buffer that is placed already, that the
// block both reads and writes or neither, or accesses at several cells or at none of its variables;
// a read that may be out of bounds where the block would not have read; a result with other
// writers, or whose predicate or cells depend on data or on variables that are not in the indices.
StatusOr<Constraints> CheckReIndex(const Function& fn, const ReIndex& step);
Function ApplyReIndex(const Function& fn, const ReIndex& step);

}  // namespace tcc
