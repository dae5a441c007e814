#pragma once

#include <string>

// The parts of the code generator, for reports.
namespace tcc {

// Returns false in programs that were linked without LLVM (cmake/bundle.cmake), which only run
// artefacts and compile for GPUs.
bool HasLlvm();
// Returns the version of the LLVM that is loaded, not of the headers: "19.1.7".
std::string LlvmVersion();
std::string LldVersion();
// Returns LLVM's name of this CPU: "skylake-avx512".
std::string HostCpuName();

}  // namespace tcc
