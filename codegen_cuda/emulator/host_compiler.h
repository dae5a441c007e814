#pragma once

#include <cstdint>
#include <string>

#include "support/status.h"

namespace tcc::emulator {

// The compiler of C++20 that makes the emulator's code: $TCC_HOST_CXX, else the first of g++,
// clang++ and c++ on the path. Unavailable if there is none; the message says where it was sought.
StatusOr<std::string> FindHostCompiler();

// How long the compiler may take for how fast a kernel. Which is less in all depends on how much
// the kernel computes: an unrolled loop of 2,000 statements compiles in 1.5 s without optimisation
// and in 8 s with it.
enum class HostOptimization : uint8_t { kNone, kSome };

// Makes folder/kernel.so of folder/kernel.cc, beside folder/tcc_emulator.h. With the compiler's
// first complaints: InvalidArgument if it refuses the text, Unavailable if the header alone too.
Status CompileSharedObject(const std::string& compiler, const std::string& folder,
                           HostOptimization optimization);

}  // namespace tcc::emulator
