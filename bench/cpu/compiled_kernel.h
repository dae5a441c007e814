#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "codegen_llvm/jit.h"
#include "runtime/executor/thread_pool.h"
#include "schedule/space/schedule.h"
#include "support/tensor.h"

namespace tcc {

// How a function runs by a schedule, without what it computes from its constants: "lowered" (its
// text), "source" (LLVM IR) or "asm".
StatusOr<std::string> KernelStage(const Function& fn, const Schedule& schedule,
                                  const std::string& stage);

// A function as machine code in this process, with what it computes from its constants.
class BenchedKernel {
 public:
  // `arguments`: a tensor for each parameter, kept alive; those that are constant are read at once.
  // Without a schedule the function runs as it is written. Errors: a schedule that does not fit.
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
