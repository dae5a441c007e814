#pragma once

#include <string_view>

#include "ir/expr/combiner.h"

namespace tcc {

// Returns the combiner of combiner.h with this name, e.g. "sum_f32" or "argmax_first_i64"; a null
// handle if there is none.
Combiner FindStandardCombiner(std::string_view name);

}  // namespace tcc
