#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/artefact/gpu_program.h"
#include "support/status.h"

namespace tcc {

inline constexpr size_t kMaxMapRank = 5;  // of cuTensorMapEncodeTiled

int64_t ElementBytes(GpuMapType type);

// Returns what one box takes in shared memory. Expects CheckTensorMap to have accepted the map.
int64_t BoxBytes(const GpuTensorMap& map);

// Checks what cuTensorMapEncodeTiled demands, as far as it depends on no size: the rank, the box,
// every size that is a constant. A swizzled box has rows of just the swizzle's bytes. Expressions
// may use that many variables.
Status CheckTensorMap(const GpuTensorMap& map, int64_t variables);

// The sizes of a tensor map for one launch.
struct TensorMapSizes {
  int64_t byte_offset = 0;
  std::array<uint64_t, kMaxMapRank> extents = {};
  std::array<uint64_t, kMaxMapRank - 1> byte_strides = {};
  int64_t bytes = 0;  // from the first element to the end of the last one
};

// Evaluates a map that CheckTensorMap has accepted. Fails if a size is not as the driver demands,
// or if the elements do not all lie in their array of `array_bytes`.
StatusOr<TensorMapSizes> SizesOf(const GpuTensorMap& map, std::span<const int64_t> shapes,
                                 int64_t array_bytes);

// Returns "f16 [v0, 64] of buffer 1 at 0, strides [128] bytes, boxes [16, 64], swizzle 128", the
// innermost dimension last.
std::string ToString(const GpuTensorMap& map);

}  // namespace tcc
