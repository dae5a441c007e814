#pragma once

#include <cstddef>
#include <cstdint>

#include "support/cuda/cuda_api.h"

// The part of CUPTI's range profiler and of its host interface (CUDA 12.6 and newer, devices from
// sm_75 on) that tcc uses, declared here so that no toolkit is needed to build; tests hold it
// against the real headers where there are some. All functions return 0 where they succeed, and
// take a struct whose first field says how many bytes the caller knows of: up to its last field,
// without trailing padding.
namespace tcc::cupti {

inline constexpr int kRangeProfiler = 0;                   // CUPTI_PROFILER_TYPE_RANGE_PROFILER
inline constexpr int kAutoRange = 1;                       // CUPTI_AutoRange: a launch is a range
inline constexpr int kKernelReplay = 2;                    // CUPTI_KernelReplay
inline constexpr int kInsufficientPrivileges = 35;         // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
inline constexpr int kVirtualInsufficientPrivileges = 40;  // the same on a virtual device

// The parameters of functions that have no field of their own.
struct PlainParams {
  size_t bytes;
  void* reserved;
};
struct ChipNameParams {
  size_t bytes;
  void* reserved;
  size_t device;
  const char* name;  // out
};
struct HostInitializeParams {
  size_t bytes;
  void* reserved;
  int profiler;
  const char* chip;
  const uint8_t* availability;
  void* host;  // out
};
struct HostParams {
  size_t bytes;
  void* reserved;
  void* host;
};
struct AddMetricsParams {
  size_t bytes;
  void* reserved;
  void* host;
  const char** names;
  size_t count;
};
struct ConfigSizeParams {
  size_t bytes;
  void* reserved;
  void* host;
  size_t config_bytes;  // out
};
struct ConfigParams {
  size_t bytes;
  void* reserved;
  void* host;
  size_t config_bytes;
  uint8_t* config;
};
struct EvaluateParams {
  size_t bytes;
  void* reserved;
  void* host;
  const uint8_t* data;
  size_t data_bytes;
  size_t range;
  const char** names;
  size_t count;
  double* values;  // out
};
struct EnableParams {
  size_t bytes;
  void* reserved;
  CudaContextHandle context;
  void* profiler;  // out
};
// The parameters of Start and Disable.
struct ProfilerParams {
  size_t bytes;
  void* reserved;
  void* profiler;
};
struct DataSizeParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  const char** names;
  size_t count;
  size_t most_ranges;
  uint32_t most_nodes;
  size_t data_bytes;  // out
};
struct DataInitializeParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t data_bytes;
  uint8_t* data;
};
struct SetConfigParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t config_bytes;
  const uint8_t* config;
  size_t data_bytes;
  uint8_t* data;
  int range;
  int replay;
  size_t most_ranges;
  uint16_t nesting_levels;
  uint16_t least_nesting_level;
  size_t pass;
  uint16_t target_nesting_level;
};
struct StopParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t pass;
  size_t target_nesting_level;
  uint8_t all_passes_submitted;  // out
};
struct DecodeParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t dropped;  // out
};
struct DataInfoParams {
  size_t bytes;
  void* reserved;
  const uint8_t* data;
  size_t data_bytes;
  size_t ranges;  // out
};

struct ProfilerLibrary {
  int (*initialize)(PlainParams*) = nullptr;
  int (*deinitialize)(PlainParams*) = nullptr;
  int (*chip_name)(ChipNameParams*) = nullptr;
  int (*host_initialize)(HostInitializeParams*) = nullptr;
  int (*host_deinitialize)(HostParams*) = nullptr;
  int (*host_add_metrics)(AddMetricsParams*) = nullptr;
  int (*host_config_size)(ConfigSizeParams*) = nullptr;
  int (*host_config)(ConfigParams*) = nullptr;
  int (*host_evaluate)(EvaluateParams*) = nullptr;
  int (*enable)(EnableParams*) = nullptr;
  int (*disable)(ProfilerParams*) = nullptr;
  int (*data_size)(DataSizeParams*) = nullptr;
  int (*data_initialize)(DataInitializeParams*) = nullptr;
  int (*set_config)(SetConfigParams*) = nullptr;
  int (*start)(ProfilerParams*) = nullptr;
  int (*stop)(StopParams*) = nullptr;
  int (*decode)(DecodeParams*) = nullptr;
  int (*data_info)(DataInfoParams*) = nullptr;
  int (*result_string)(int result, const char** text) = nullptr;
};

}  // namespace tcc::cupti
