#pragma once

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// Returns the value, as a function of the copy's dtype, that pads copies of operands beyond the
// extent of `axis`. Along a spatial variable any value does. Along a reduce variable the value
// makes each input of the reduction the identity of its combiner. Operands are padded where their
// index is the variable itself.
StatusOr<Expr (*)(DType)> FillingFor(const Block& block, const IterVar& axis);

}  // namespace tcc
