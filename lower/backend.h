#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr/function.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// What the pipeline hands to a backend: kLowered functions, one a kernel, names unique.
struct LoweredModule {
  std::vector<Function> kernels;
};

struct BackendOptions {
  int threads = 1;  // compiler threads; the result is the same for any number
  // Called before the first and as each is done, by one thread at a time; what is counted are
  // kernels, or programs of several.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // Cancelled where it asks for a stop; within the time of one kernel's passes.
  std::stop_token stop = {};
};

// What a code generator made of a kernel, for reports and checks.
struct CompiledKernel {
  // Not OK: the kernel has no machine code, and why; the module has no image then.
  Status refused = {};
  // Why another schedule should be tried, "spills 24 bytes with 255 registers"; "" for nothing.
  std::string fault = {};
  double fault_cost = 0;  // of two faults, the smaller is the better to live with
  // What made the machine code, with its settings, as "NVRTC 13.0 of 90 bytes, sm_86, ..."; "":
  // tcc.
  std::string compiler = {};
  // Of the machine code, in the order of the keys (KernelInfo::statistics, KernelInfo::ratios).
  std::vector<std::pair<std::string, int64_t>> statistics = {};
  std::vector<std::pair<std::string, double>> ratios = {};
};

struct CompiledModule {
  // What the artefact stores and the device loads: for CPU targets one ELF shared object that
  // exports each kernel by its name (runtime/artefact/kernel_abi.h), for CUDA targets a GpuProgram.
  std::vector<uint8_t> image;
  std::vector<CompiledKernel> kernels;  // of the module's, in their order
};

// A code generator. Handed in by api, which alone knows all of them.
class Backend {
 public:
  virtual ~Backend() = default;
  // Deterministic: the same module gives the same bytes.
  virtual StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                           const BackendOptions& options) = 0;
  // For dumps: "source" (LLVM IR or CUDA C), "ptx" or "asm".
  virtual StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) = 0;
};

}  // namespace tcc
