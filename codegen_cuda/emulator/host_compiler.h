#pragma once

#include <cstdint>
#include <string>

#include "support/status.h"

namespace tcc::emulator {

// Returns the C++20 compiler for the emulator's code: $TCC_HOST_CXX, else the first of g++, clang++
// and c++ on the path. Unavailable if there is none; the message lists the places searched.
StatusOr<std::string> FindHostCompiler();

// The trade between compile time and the speed of the kernel. The better choice depends on how much
// the kernel computes: an unrolled loop of 2,000 statements compiles in 1.5 s without optimisation
// and in 8 s with it.
enum class HostOptimization : uint8_t { kNone, kSome };

// Compiles folder/kernel.cc, which includes folder/tcc_emulator.h, to folder/kernel.so. Errors hold
// the compiler's first complaints: InvalidArgument if it refuses the text, Unavailable if it
// refuses even the header alone.
Status CompileSharedObject(const std::string& compiler, const std::string& folder,
                           HostOptimization optimization);

}  // namespace tcc::emulator
