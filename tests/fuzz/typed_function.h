#pragma once

#include "ir/function.h"
#include "ir/support/random.h"
#include "ir/support/tensor.h"

namespace tcc {

// A random map, or a reduction and a map of its results, over tensors of any dtypes that can be
// computed with. All values are integers from -8 to 8 and sums and products of two of them, so that
// every dtype holds them exactly and every order of summing gives the same.
struct TypedFunction {
  Function fn;
  std::vector<Tensor> arguments;
};

TypedFunction RandomTypedFunction(Random& random);

}  // namespace tcc
