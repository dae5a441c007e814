#pragma once

#include <cstddef>
#include <cstdint>

#include "support/cuda/cuda_api.h"

// The part of CUPTI's activity interface (CUDA 11.4 and newer) that tcc uses, declared here so that
// no toolkit is needed to build; tests hold it against the real header where there is one. All
// functions return 0 where they succeed.
namespace tcc::cupti {

inline constexpr int kConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
inline constexpr uint32_t kFlushForced = 1;   // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
inline constexpr int kMaxLimitReached = 12;   // CUPTI_ERROR_MAX_LIMIT_REACHED: no more records

// The beginning of a record of that kind, in every version since CUpti_ActivityKernel4.
struct KernelRecord {
  uint32_t kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers;
  uint32_t partitioned_cache_requested, partitioned_cache_executed;
  uint64_t start, end;  // nanoseconds
  uint64_t completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared_bytes, dynamic_shared_bytes;
  uint32_t local_bytes_per_thread, local_bytes_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
};

using BufferRequested = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using BufferCompleted = void (*)(CudaContextHandle context, uint32_t stream, uint8_t* buffer,
                                 size_t bytes, size_t valid_bytes);

struct Library {
  int (*register_callbacks)(BufferRequested requested, BufferCompleted completed) = nullptr;
  int (*enable)(int kind) = nullptr;
  int (*disable)(int kind) = nullptr;
  int (*flush_all)(uint32_t flag) = nullptr;
  int (*next_record)(uint8_t* buffer, size_t valid_bytes, void** record) = nullptr;
  int (*result_string)(int result, const char** text) = nullptr;
};

}  // namespace tcc::cupti
