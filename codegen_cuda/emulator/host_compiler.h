#pragma once

#include <string>

#include "ir/support/status.h"

namespace tcc::emulator {

// The compiler of C++20 that makes the emulator's code: $TCC_HOST_CXX, else the first of g++,
// clang++ and c++ on the path. Unavailable if there is none; the message says where it was sought.
StatusOr<std::string> FindHostCompiler();

// Makes folder/kernel.so of folder/kernel.cc. InvalidArgument with the compiler's first complaints
// if it refuses.
Status CompileSharedObject(const std::string& compiler, const std::string& folder);

}  // namespace tcc::emulator
