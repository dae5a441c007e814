#pragma once

#include <cstdint>

namespace tcc {

// The limits of one multiprocessor of an NVIDIA GPU (CUDA programming guide, "technical
// specifications per compute capability"). The driver reserves `reserved_bytes` of shared memory
// per block for itself.
struct MultiprocessorLimits {
  int sm;
  int64_t warps;
  int64_t blocks;
  int64_t shared_bytes;
  int64_t reserved_bytes;
};

// Returns the limits of a device; one newer than the table gets the last row.
const MultiprocessorLimits& MultiprocessorLimitsOf(int sm);

// The units of allocation: registers are allocated per warp, 256 at a time; shared memory, 128
// bytes at a time.
inline constexpr int64_t kRegisterUnit = 256;
inline constexpr int64_t kSharedUnit = 128;

}  // namespace tcc
