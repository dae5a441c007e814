#pragma once

#include "ir/expr/combiner.h"

namespace tcc {

// Returns the combiner of (maximum, sum of exponentials of differences to it, sum of those times
// values). A score x with a value v comes in as (x, 1, v). The third element over the second is
// attention's weighted mean of values. The third may have an axis that the others lack.
Combiner AttentionCombiner(DType dtype);

}  // namespace tcc
