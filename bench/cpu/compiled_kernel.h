#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/kernel_suite.h"
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

// A kernel of a suite with its arguments and the expected result: the result of its function as it
// is written, without a schedule.
class KernelCase {
 public:
  static StatusOr<KernelCase> Create(const BenchKernel& kernel);

  const Function& fn() const { return fn_; }
  // Returns the tensors of the function's parameters; the last one is the result.
  const std::vector<Tensor>& arguments() const { return arguments_; }

  // Overwrites the result, lets `run` write it and compares. The error names `who`. A result may be
  // off by 8 * sqrt(K) * eps * M for K terms, where M is the sum of their absolute values: twice
  // the bound of `strict`, since the expected values are sums of float32 as well.
  Status Check(const std::string& who, const std::function<void()>& run) const;

 private:
  Function fn_;
  std::vector<Tensor> arguments_;
  std::vector<float> expected_, magnitudes_;
  double factor_ = 0;
};

}  // namespace tcc
