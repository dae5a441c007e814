#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the program with a window over several dimensions reduced in one dimension after the
// other: k * k steps per element become k + k.
//
//   part[.., h, j, ..] = max over kh of input[.., h * s + kh, j, ..]
//   out[.., h, w, ..] = max over kw of part[.., h, w * t + kw, ..]
//
// Returns nullopt if no stage is such a reduction of the elements of one buffer, or if it is less
// than twice as much work. Sums are added in another order.
std::optional<TensorProgram> SeparableWindowVariant(const TensorProgram& program);

}  // namespace tcc
