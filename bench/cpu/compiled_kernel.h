#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "codegen_llvm/jit.h"
#include "runtime/executor/thread_pool.h"
#include "schedule/space/schedule.h"
#include "support/tensor.h"

namespace tcc {

// Returns the code of a function under a schedule, without its prepare part, which computes from
// constants: "lowered" (its text), "source" (LLVM IR) or "asm".
StatusOr<std::string> KernelStage(const Function& fn, const Schedule& schedule,
                                  const std::string& stage);

// A function as machine code in this process, with the operands that it prepares from constants.
class BenchedKernel {
 public:
  // Compiles a function. `arguments` has a tensor for each parameter and keeps it alive; constant
  // ones are read at once. Without a schedule the function runs as it is written. Errors: a
  // schedule that does not fit.
  static StatusOr<BenchedKernel> Create(const Function& fn, const std::optional<Schedule>& schedule,
                                        const std::vector<Tensor>& arguments);

  void Run(ThreadPool& pool) const;

 private:
  BenchedKernel() = default;

  std::shared_ptr<JitModule> code_;
  TccKernel main_ = nullptr;
  std::vector<Tensor> arguments_;  // of `main_`
};

}  // namespace tcc
