#pragma once

#include <cstdint>
#include <optional>

#include "ir/expr/tensor_expr.h"

namespace tcc {

// Bytes of the elements of a program's inputs and outputs that one call reads or writes, each
// counted once: of a table of which a few rows are gathered, these rows. Of a buffer that is
// accessed in several places the one with the most elements counts, so that it is no more than what
// any schedule moves, but where different points of one access meet the same elements by what the
// indices are computed from (gathered rows that are equal). nullopt where an extent is symbolic.
std::optional<int64_t> MovedBytes(const TensorProgram& program);

}  // namespace tcc
