#pragma once

#include <string>

namespace tcc::emulator {

// "tcc_emulator.h", which the prelude of a CUDA text (codegen_cuda/text/prelude.h) includes in
// place of its machine part: the same names over the calls of host_interface.h. Needs C++20.
std::string DeviceHeader();

}  // namespace tcc::emulator
