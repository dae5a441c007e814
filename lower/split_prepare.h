#pragma once

#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// A scheduled function, split from the code that computes its constant buffers.
struct PreparedFunction {
  // The parameters are those of the original that it still needs (all non-constant ones, and the
  // constants that it reads), then the constant buffers that were allocated in it.
  Function main;
  // One function per constant buffer, in their order. Its first parameters are the constants that
  // it reads, its last one is the buffer that it writes.
  std::vector<Function> prepare;
};

// Moves the root nests that compute constant buffers (schedule/steps/prepack.h) out of `fn`.
//
//   f(A, B constant, C):                     main(A, C, B_p constant):  for ... C += A * B_p
//     allocate B_p constant            -->
//     for ... B_p = B                        prepare(B constant, B_p):  for ... B_p = B
//     for ... C += A * B_p
//
// A non-constant intermediate that both sides read is computed by both.
//
// Error: such a nest reads a non-constant parameter, has a loop that is bound to threads, or also
// writes a non-constant buffer that other nests use.
StatusOr<PreparedFunction> SplitPrepare(const Function& fn);

}  // namespace tcc
