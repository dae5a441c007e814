#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "ir/function.h"
#include "ir/support/status.h"
#include "ir/target.h"

namespace tcc {

// What the pipeline hands to a backend: kLowered functions, one a kernel, names unique.
struct LoweredModule {
  std::vector<Function> kernels;
};

struct BackendOptions {
  int threads = 1;  // compiler threads; the result is the same for any number
  // Called as kernels are done, by one thread at a time.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // Cancelled where it asks for a stop; within the time of one kernel's passes.
  std::stop_token stop = {};
};

// Static facts about a kernel's machine code, for reports and checks.
struct KernelStatistics {
  std::string name;
  int64_t code_bytes = 0;
};

struct CompiledModule {
  // What the artefact stores and the device loads: for CPU targets one ELF shared object that
  // exports each kernel by its name (runtime/kernel_abi.h).
  std::vector<uint8_t> image;
  std::vector<KernelStatistics> kernels;
};

// A code generator. Handed in by api, which alone knows all of them.
class Backend {
 public:
  virtual ~Backend() = default;
  // Deterministic: the same module gives the same bytes.
  virtual StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                           const BackendOptions& options) = 0;
  // For dumps: "source" (LLVM IR or CUDA C) or "asm".
  virtual StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) = 0;
};

}  // namespace tcc
