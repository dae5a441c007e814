#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the program with a long reduction to few results split into two stages, both of which
// have enough parallelism for many threads:
//
//   part[.., p] = combine over r of value(.., p * length + r)
//   out[..]     = combine over p of part[.., p]
//
// Returns nullopt if no stage reduces more elements than it has results over a long enough axis, if
// outputs of a tuple differ in their axes, or if extents are not known.
std::optional<TensorProgram> SplitReductionVariant(const TensorProgram& program);

}  // namespace tcc
