#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/cuda/cuda_timing.h"
#include "support/status.h"
#include "support/tensor.h"

namespace tcc {

// A GPU, its memory and one stream, on which to compare kernels of different makers. Its context is
// current in the thread as long as it lives.
class GpuBench {
 public:
  // Opens the driver and the device that TCC_CUDA_DRIVER and TCC_CUDA_DEVICE choose.
  static StatusOr<std::unique_ptr<GpuBench>> Open();
  GpuBench(const GpuBench&) = delete;
  GpuBench& operator=(const GpuBench&) = delete;

  const CudaDriver& driver() const { return context_->driver(); }
  const CudaDeviceInfo& device() const { return context_->device(); }
  CudaStreamHandle stream() const { return timer_->stream(); }
  CudaTimer& timer() const { return *timer_; }

  StatusOr<CudaMemory> Allocate(int64_t bytes, std::string_view what) const;
  StatusOr<CudaMemory> Upload(std::span<const uint8_t> bytes, std::string_view what) const;
  // Sets every byte to 0xff, which is NaN as a float.
  Status Poison(uint8_t* memory, int64_t bytes) const;
  Status Download(std::span<uint8_t> to, const uint8_t* from) const;  // waits

 private:
  GpuBench() = default;
  Status CopyToDevice(uint8_t* to, std::span<const uint8_t> from) const;

  std::shared_ptr<const CudaContext> context_;
  std::unique_ptr<CudaScope> scope_;
  std::unique_ptr<CudaTimer> timer_;
};

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
