#pragma once

#include "ir/expr/combiner.h"

namespace tcc {

// (maximum, sum of exponentials of differences to it, sum of those times values): a score x with a
// value v comes in as (x, 1, v). The third over the second is the mean of values that attention
// gives. The third may have an axis that the others lack.
Combiner AttentionCombiner(DType dtype);

}  // namespace tcc
