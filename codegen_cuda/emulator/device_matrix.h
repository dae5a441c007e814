#pragma once

#include <string_view>

namespace tcc::emulator {

// Returns the part of tcc_emulator.h for tensor cores (codegen_cuda/text/matrix_prelude.h): the
// lanes exchange their fragments, and each computes its own fragment of the result.
std::string_view MatrixHeader();

}  // namespace tcc::emulator
