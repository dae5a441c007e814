#pragma once

#include <memory>
#include <string>

#include "lower/backend.h"
#include "runtime/artefact/kernel_abi.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Kernels as machine code in this process.
class JitModule {
 public:
  struct Engine;
  explicit JitModule(std::unique_ptr<Engine> engine);
  ~JitModule();
  JitModule(JitModule&&) noexcept;
  JitModule& operator=(JitModule&&) noexcept;

  // Returns nullptr if there is no kernel of that name. The result is valid while the module lives.
  TccKernel Find(const std::string& name) const;

 private:
  std::unique_ptr<Engine> engine_;
};

// Compiles the kernels as Compile does and links them into this process. `target` must be one that
// this CPU can run.
StatusOr<std::unique_ptr<JitModule>> Jit(const LoweredModule& module, const Target& target,
                                         const BackendOptions& options = {});

}  // namespace tcc
