#pragma once

#include <vector>

#include "bench/gpu/gpu_bench.h"
#include "support/tensor.h"

namespace tcc {

// The addresses of one run's operands.
struct GpuOperands {
  std::vector<uint8_t*> inputs;
  std::vector<uint8_t*> constants;
  std::vector<uint8_t*> outputs;
};

// Copies of tensors on a GPU: inputs and outputs once for each set, constants once for all.
class GpuOperandSets {
 public:
  struct Tensors {
    std::vector<Tensor> inputs, constants;
    std::vector<int64_t> output_bytes;
  };
  // Makes `count` sets.
  static StatusOr<GpuOperandSets> Make(const GpuBench& bench, const Tensors& tensors,
                                       int64_t count);
  // Returns CountColdSets of their inputs and outputs.
  static int64_t CountFor(const Tensors& tensors, const CudaDeviceInfo& device);

  size_t size() const { return sets_.size(); }
  const GpuOperands& operator[](size_t set) const { return sets_[set]; }

 private:
  std::vector<CudaMemory> memory_;
  std::vector<GpuOperands> sets_;
};

}  // namespace tcc
