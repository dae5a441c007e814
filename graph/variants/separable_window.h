#pragma once

#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// The program with a window over several dimensions reduced in one after the other: k * k steps an
// element become k + k.
//
//   part[.., h, j, ..] = max over kh of input[.., h * s + kh, j, ..]
//   out[.., h, w, ..] = max over kw of part[.., h, w * t + kw, ..]
//
// nullopt where no stage is such a reduction of the elements of one buffer, or is not at least
// twice as much work as that. Sums are added up in another order.
std::optional<TensorProgram> SeparableWindowVariant(const TensorProgram& program);

}  // namespace tcc
