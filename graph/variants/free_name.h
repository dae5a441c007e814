#pragma once

#include <string>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns `hint`, or else the first of hint_1, hint_2, .. that no stage or buffer of the program
// has.
std::string FreeName(const TensorProgram& program, const std::string& hint);

}  // namespace tcc
