#pragma once

#include "ir/expr/function.h"
#include "support/random.h"

namespace tcc {

// A product of small matrices of a type that tensor cores multiply, in any order of dimensions,
// with a batch or without; extents that tiles divide and do not.
Function RandomProduct(Random& random);

}  // namespace tcc
