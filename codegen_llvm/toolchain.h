#pragma once

#include <string>

// What the code generator is made of, for reports.
namespace tcc {

// False in builds for machines that only run, and compile for GPUs (TCC_LLVM=OFF).
bool HasLlvm();
// Of the LLVM that runs, not of the headers: "19.1.7".
std::string LlvmVersion();
std::string LldVersion();
// LLVM's name of this CPU: "skylake-avx512".
std::string HostCpuName();

}  // namespace tcc
