#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/cuda_context.h"
#include "support/status.h"

namespace tcc {

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
