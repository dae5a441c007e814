#include "codegen_llvm/toolchain.h"

#include <llvm-c/Core.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

// lld/Common/Version.h includes a file that Debian's package does not have.
namespace lld {
std::string getLLDVersion();
}

namespace tcc {

bool HasLlvm() {
  return true;
}

std::string LlvmVersion() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::string LldVersion() {
  return lld::getLLDVersion();
}

std::string HostCpuName() {
  return llvm::sys::getHostCPUName().str();
}

}  // namespace tcc
