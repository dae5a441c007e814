#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace tcc {

// One of the two values of f16 or bf16 that enclose `value`, each the more likely the nearer it is;
// what the type holds stays as it is. (M. Croci et al.: Stochastic rounding: implementation, error
// analysis and applications, 2022) The choice is a function of value and seed, so that it depends
// on no order of evaluation. Other types, values that are not finite and those beyond the type's
// largest are rounded to nearest.
double RoundStochastically(DType type, double value, uint64_t seed);
// The same for mantissas of 10 bits (ScalarOp::kRoundTf32).
double RoundTf32Stochastically(double value, uint64_t seed);

}  // namespace tcc
