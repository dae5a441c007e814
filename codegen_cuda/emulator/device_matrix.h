#pragma once

#include <string_view>

namespace tcc::emulator {

// The part of tcc_emulator.h for tensor cores (codegen_cuda/text/matrix_prelude.h): lanes give
// their fragments to the warp, and each computes its own of the result.
std::string_view MatrixHeader();

}  // namespace tcc::emulator
