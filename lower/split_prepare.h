#pragma once

#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// A scheduled function without what its constant buffers are computed by.
struct PreparedFunction {
  // Its parameters are those of the original that it still needs (every one that is not constant,
  // and the constants that it reads), then the constant buffers that were allocated in it.
  Function main;
  // One for each of these buffers, in their order: reads constants, its first parameters, and
  // writes the buffer, its last one.
  std::vector<Function> prepare;
};

// Takes the root nests that compute constant buffers (schedule/steps/prepack.h) out of `fn`.
//
//   f(A, B constant, C):                     main(A, C, B_p constant):  for ... C += A * B_p
//     allocate B_p constant            -->
//     for ... B_p = B                        prepare(B constant, B_p):  for ... B_p = B
//     for ... C += A * B_p
//
// What such a nest and others read, and is not constant, both compute.
//
// Error: such a nest that reads what is not constant, or writes what others read as well; one with
// loops bound to threads.
StatusOr<PreparedFunction> SplitPrepare(const Function& fn);

}  // namespace tcc
