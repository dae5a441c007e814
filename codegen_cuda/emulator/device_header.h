#pragma once

#include <string>
#include <string_view>

namespace tcc::emulator {

// Returns "tcc_emulator.h", which the prelude of a CUDA text (codegen_cuda/text/prelude.h) includes
// in place of its machine part. It implements the same names by the calls of host_interface.h, and
// needs C++20.
std::string DeviceHeader();

// Returns the part of tcc_emulator.h for tensor cores (codegen_cuda/text/matrix_prelude.h): the
// lanes exchange their fragments, and each computes its own fragment of the result.
std::string_view MatrixHeader();

// Returns the part for products of warp groups (codegen_cuda/text/group_prelude.h), which the host
// computes (group_products.h).
std::string_view GroupHeader();

// Returns the part of tcc_emulator.h for copies of boxes (box_copies.h).
std::string_view BoxHeader();

}  // namespace tcc::emulator
