#pragma once

#include <string>

namespace tcc::emulator {

// Returns "tcc_emulator.h", which the prelude of a CUDA text (codegen_cuda/text/prelude.h) includes
// in place of its machine part. It implements the same names by the calls of host_interface.h, and
// needs C++20.
std::string DeviceHeader();

}  // namespace tcc::emulator
