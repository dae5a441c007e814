#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/cuda_context.h"
#include "support/status.h"

namespace tcc {

// Pinned host memory that small tensors pass through: the device copies from and to it by itself,
// while other host memory makes the driver wait in each call.
class CudaStaging {
 public:
  // Above this the driver's own way, in pieces, hides the second copy better.
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  static bool IsWorthwhile(size_t bytes) { return bytes <= kMaxBytes; }

  // Until Clear, at a multiple of 64. Expects bytes <= kMaxBytes and the context to be the
  // thread's.
  StatusOr<uint8_t*> Reserve(const std::shared_ptr<const CudaContext>& context, size_t bytes);

  // All of it may be used again.
  void Clear();

 private:
  using Memory = CudaOwned<void*, &CudaDriver::cuMemFreeHost>;
  // Blocks of kMaxBytes; `used_` bytes of number `block_`.
  std::vector<Memory> blocks_;
  size_t block_ = 0;
  size_t used_ = 0;
};

}  // namespace tcc
