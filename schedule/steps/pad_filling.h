#pragma once

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// What copies hold beyond the extent of `axis` so that the block's instances there do no harm, by
// the type of the copy: anything along a spatial variable; along a reduce variable what makes each
// input of the reduction its combiner's identity. Operands are padded where their index is the
// variable itself.
StatusOr<Expr (*)(DType)> FillingFor(const Block& block, const IterVar& axis);

}  // namespace tcc
