#pragma once

#include <memory>
#include <string_view>

#include "runtime/cuda/cuda_context.h"

namespace tcc {

// Memory that streams take and give back in the order of their work, without waiting. On a device
// without pools of its own it is the device's memory, which is given back after the stream was
// waited for. All functions expect the context to be the thread's.
class CudaPool {
 public:
  CudaPool() = default;
  static StatusOr<CudaPool> Make(std::shared_ptr<const CudaContext> context);

  // For work that is enqueued in the stream from now on, or anywhere once that stream was waited
  // for; 0 bytes are allowed. Where there is no room, what the pool keeps is given to the device
  // first, after the stream's work. ResourceExhausted says how much is free.
  StatusOr<CudaMemory> Allocate(CudaStreamHandle stream, int64_t bytes,
                                std::string_view what) const;

  // Once the work is done that is in the stream now. Fails where that is waited for and failed;
  // then `memory` stays as it is.
  Status GiveBack(CudaMemory& memory, CudaStreamHandle stream) const;

 private:
  std::shared_ptr<const CudaContext> context_;
  CudaMemoryPool pool_;  // none on such a device
};

}  // namespace tcc
