#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen_llvm/kernel_state.h"
#include "ir/expr/function.h"
#include "lower/backend.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// A kernel as a position-independent ELF object file.
struct KernelObject {
  std::string name;
  std::vector<uint8_t> bytes;
  int64_t code_bytes = 0;
  RuntimeNeeds needs = {};
};

// Compiles a kernel. The same input gives the same bytes. Thread-safe.
StatusOr<KernelObject> CompileKernel(const Function& fn, const Target& target,
                                     const std::stop_token& stop = {});
// Compiles kernels to one object each, in their order.
StatusOr<std::vector<KernelObject>> CompileKernels(const std::vector<Function>& kernels,
                                                   const Target& target,
                                                   const BackendOptions& options);

// Returns text for people: LLVM IR as the code generator gets it ("source"), or assembly ("asm").
StatusOr<std::string> KernelText(const Function& fn, const Target& target,
                                 const std::string& stage);

}  // namespace tcc
