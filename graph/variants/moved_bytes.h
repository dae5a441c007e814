#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Returns the bytes of the input and output elements that one call reads or writes, each counted
// once: of a table from which a few rows are gathered, only these rows. If several accesses read
// one buffer, only the one with the most elements counts. The result is thus a lower bound for any
// schedule, except where computed indices make different points of one access meet the same
// elements (gathered rows that are equal). nullopt while an extent is symbolic.
std::optional<int64_t> MovedBytes(const TensorProgram& program);

}  // namespace tcc
