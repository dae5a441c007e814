#pragma once

#include <memory>
#include <string_view>

#include "runtime/cuda/cuda_context.h"

namespace tcc {

// A pool of memory that streams allocate and free in stream order, without waiting. On a device
// without such pools it allocates device memory directly and frees it after waiting for the stream.
// All functions expect the context to be current in the calling thread.
class CudaPool {
 public:
  CudaPool() = default;
  static StatusOr<CudaPool> Make(std::shared_ptr<const CudaContext> context);

  // Allocates memory for work that is enqueued in the stream from now on, or anywhere once that
  // stream was waited for; 0 bytes are allowed. If memory is short, waits for the stream's work,
  // returns the pool's unused memory to the device and tries again. ResourceExhausted says how much
  // is free.
  StatusOr<CudaMemory> Allocate(CudaStreamHandle stream, int64_t bytes,
                                std::string_view what) const;

  // Frees the memory once the work that is in the stream now is done. If it must wait for that work
  // and the work fails, returns the failure and leaves `memory` as it is.
  Status GiveBack(CudaMemory& memory, CudaStreamHandle stream) const;

 private:
  std::shared_ptr<const CudaContext> context_;
  CudaMemoryPool pool_;  // none on a device without pools
};

}  // namespace tcc
