#pragma once

#include <cstdint>
#include <span>

#include "runtime/artefact/gpu_program.h"
#include "runtime/executor/frame.h"
#include "support/cuda/cuda_api.h"
#include "support/status.h"

namespace tcc {

// A tensor map in the driver's encoding, and the bytes from its first element to the end of the
// last one.
struct EncodedMap {
  CudaTensorMap map;
  int64_t bytes = 0;
};

// Has the driver encode a map for one launch. `array` is where the map's array lies, `shapes` are
// the values of its variables, `driver_version` is CudaVersionOf. Fails as SizesOf does, and where
// the driver refuses.
StatusOr<EncodedMap> EncodeTensorMap(const CudaDriver& driver, int driver_version,
                                     const GpuTensorMap& map, const BufferPlace& array,
                                     std::span<const int64_t> shapes);

}  // namespace tcc
