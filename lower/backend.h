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

// The kernels that the pipeline hands to a backend: functions of form kLowered with unique names.
struct LoweredModule {
  std::vector<Function> kernels;
};

struct BackendOptions {
  int threads = 1;  // the number of compiler threads; the result does not depend on it
  // Called before the first kernel and after each one, by one thread at a time. The unit of `done`
  // and `total` is a kernel, or a program of several kernels.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // Requests a stop. Compile then returns Cancelled, within the time of one kernel's passes.
  std::stop_token stop = {};
};

// The result of compiling one kernel, for reports and checks.
struct CompiledKernel {
  // Not OK: the reason why the kernel has no machine code. The module has no image then.
  Status refused = {};
  // The reason to try another schedule, "spills 24 bytes with 255 registers"; "" if there is none.
  std::string fault = {};
  double fault_cost = 0;  // ranks two faults: the smaller one is preferable
  // The compiler that made the machine code, with its settings, "NVRTC 13.0 of 90 bytes, sm_86,
  // ..."; "" stands for tcc itself.
  std::string compiler = {};
  bool cached = false;  // the machine code was kept from an earlier compilation
  // Properties of the machine code, in the order of KernelInfo::statistics and KernelInfo::ratios.
  std::vector<std::pair<std::string, int64_t>> statistics = {};
  std::vector<std::pair<std::string, double>> ratios = {};
};

struct CompiledModule {
  // The bytes that the artefact stores and the device loads: for CPU targets one ELF shared object
  // that exports each kernel by its name (runtime/artefact/kernel_abi.h), for CUDA targets a
  // GpuProgram.
  std::vector<uint8_t> image;
  std::vector<CompiledKernel> kernels;  // in the order of the module's kernels
};

// The interface of a code generator. MakeBackend (compiler/make_backend.h) makes the one for a
// target.
class Backend {
 public:
  virtual ~Backend() = default;
  // Compiles the module. Deterministic: the same module gives the same bytes.
  virtual StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                           const BackendOptions& options) = 0;
  // Returns the code after a stage, for dumps: "source" (LLVM IR or CUDA C), "ptx" or "asm".
  virtual StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) = 0;
};

}  // namespace tcc
