#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/gpu_program.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_pool.h"
#include "support/status.h"

namespace tcc {

// The kernels and weights of an artefact on a device. A program may be used from several threads at
// once.
class CudaProgram {
 public:
  // Loads an artefact. Unavailable if the kernels do not run on the device's arch; the message
  // names both. InvalidArgument for a bad section; ResourceExhausted if memory is short.
  static StatusOr<std::shared_ptr<const CudaProgram>> Load(
      std::shared_ptr<const CudaContext> context, const Artefact& artefact);

  const std::shared_ptr<const CudaContext>& context() const { return context_; }
  const std::vector<GpuKernel>& kernels() const { return program_.kernels; }
  // Returns the function of kernels()[kernel].launches[launch].
  CudaFunctionHandle function(size_t kernel, size_t launch) const {
    return functions_[kernel][launch];
  }
  // Whether a launch that waits itself (GpuLaunch::waits) may begin while the one before it ends.
  bool overlaps_launches() const { return overlaps_launches_; }
  // Returns the newest CUDA that the driver supports (CudaVersionOf).
  int driver_version() const { return driver_version_; }
  uint8_t* weights() const { return weights_.data(); }
  // Returns the pool from which all executors of the program allocate.
  const CudaPool& pool() const { return pool_; }

 private:
  CudaProgram() = default;
  Status LoadImages(const std::string& target);
  Status FindFunctions();
  Status CheckTensorMaps() const;
  Status DecideOverlap();
  Status UploadWeights(std::span<const uint8_t> weights);

  std::shared_ptr<const CudaContext> context_;
  GpuProgram program_;  // without the images' bytes
  std::vector<CudaModule> modules_;
  std::vector<std::vector<CudaFunctionHandle>> functions_;
  int driver_version_ = 0;
  bool overlaps_launches_ = false;
  CudaMemory weights_;
  CudaPool pool_;
};

// Returns whether a target's name has a suffix like sm_90a, whose code is for one arch alone.
bool HasSuffix(const std::string& target);

// The code of an image that a device runs. Machine code runs on devices of the same generation that
// are not older. With a suffix ("sm_90a") it runs on that very arch alone. PTX runs on newer
// devices.
enum class CudaImageChoice : uint8_t { kCode, kPtx, kNone };
CudaImageChoice ChooseImage(int device_sm, int code_sm, bool has_suffix, bool has_ptx);

}  // namespace tcc
