#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace tcc {

// Rounds to one of the two values of f16, bf16 or tf32 that enclose `value`, with a probability
// that grows with nearness; a value of the type stays. (M. Croci et al.: Stochastic rounding:
// implementation, error analysis and applications, 2022) The choice is a function of value and
// seed, so it does not depend on the order of evaluation. Other types, and values that are
// infinite, NaN or beyond the type's largest, are rounded to nearest.
double RoundStochastically(DType type, double value, uint64_t seed);

}  // namespace tcc
