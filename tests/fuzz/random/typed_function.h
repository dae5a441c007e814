#pragma once

#include "ir/expr/function.h"
#include "support/random.h"
#include "support/tensor.h"

namespace tcc {

// A random map, or a reduction and a map of its results, over tensors of any dtypes, those too that
// only hold values. All values are integers from -8 to 8 and sums and products of two of them, so
// that every dtype that is computed with holds them exactly and every order of summing gives the
// same. Or casts from type to type, of values that these round and saturate, and NaN.
struct TypedFunction {
  Function fn;
  std::vector<Tensor> arguments;
};

TypedFunction RandomTypedFunction(Random& random);

}  // namespace tcc
