#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/executor/module.h"

namespace tcc {

// A runner of a module's kernels outside of its plan.
class LoneKernels {
 public:
  explicit LoneKernels(Module module) : module_(std::move(module)) {}

  // Memory that a kernel reads and writes.
  struct Operand {
    // The operand's place among the weights; -1: it is `memory`.
    int64_t weights_offset = -1;
    int64_t weights_bytes = 0;
    std::span<uint8_t> memory = {};  // of the host, at a multiple of 64
  };

  // Runs a kernel on the operands of its call and leaves its results in their `memory`.
  Status Run(size_t kernel, std::span<const Operand> operands);

 private:
  Status RunOnQueue(size_t kernel, std::span<const Operand> operands);

  Module module_;
  bool ready_ = false;
  std::unique_ptr<DeviceQueue> queue_;  // null where kernels run on host memory
};

}  // namespace tcc
