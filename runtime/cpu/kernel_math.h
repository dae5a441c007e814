#pragma once

#include <cstdint>

#include "runtime/artefact/kernel_abi.h"

namespace tcc {

// Implements TccRuntime::math by the host's libm. `function` is a TCC_MATH code; `y` is ignored by
// functions of one argument.
double TccMath(int32_t function, double x, double y);

}  // namespace tcc
