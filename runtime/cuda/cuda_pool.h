#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/cuda/cuda_context.h"
#include "support/status.h"

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

// A store of pinned host memory that small tensors pass through. The device accesses it directly,
// while other host memory makes the driver wait in each call.
class CudaStaging {
 public:
  // The limit above which the driver's own copy, in pieces, hides the second copy better.
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  static bool IsWorthwhile(size_t bytes) { return bytes <= kMaxBytes; }

  // Returns memory at a multiple of 64 that is reserved until Clear. Expects bytes <= kMaxBytes and
  // the context to be current in the calling thread.
  StatusOr<uint8_t*> Reserve(const std::shared_ptr<const CudaContext>& context, size_t bytes);

  // Ends all reservations.
  void Clear();

 private:
  using Memory = CudaOwned<void*, &CudaDriver::cuMemFreeHost>;
  // The blocks of kMaxBytes each. Reservations take `used_` bytes of block number `block_`.
  std::vector<Memory> blocks_;
  size_t block_ = 0;
  size_t used_ = 0;
};

}  // namespace tcc
