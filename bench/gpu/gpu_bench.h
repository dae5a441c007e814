#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "runtime/cuda/cuda_timing.h"
#include "support/status.h"

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

}  // namespace tcc
