#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// The program with a long reduction to few results in two stages, which both have something to do
// for many threads:
//
//   part[.., p] = combine over r of value(.., p * length + r)
//   out[..]     = combine over p of part[.., p]
//
// nullopt where no stage reduces more than it has results over an axis long enough, where outputs
// of a tuple differ in their axes or extents are not known.
std::optional<TensorProgram> SplitReductionVariant(const TensorProgram& program);

}  // namespace tcc
