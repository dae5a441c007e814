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

// The kernels and weights of an artefact on a device. May be used from several threads at once.
class CudaProgram {
 public:
  // Unavailable if the device is of an arch that the kernels do not run on, which names both;
  // InvalidArgument for a bad section; ResourceExhausted if memory is short.
  static StatusOr<std::shared_ptr<const CudaProgram>> Load(
      std::shared_ptr<const CudaContext> context, const Artefact& artefact);

  const std::shared_ptr<const CudaContext>& context() const { return context_; }
  const std::vector<GpuKernel>& kernels() const { return program_.kernels; }
  // Of kernels()[kernel].launches[launch].
  CudaFunctionHandle function(size_t kernel, size_t launch) const {
    return functions_[kernel][launch];
  }
  uint8_t* weights() const { return weights_.data(); }
  // Of the memory of all its executors.
  const CudaPool& pool() const { return pool_; }

 private:
  CudaProgram() = default;
  Status LoadImages(const std::string& target);
  Status FindFunctions();
  Status UploadWeights(std::span<const uint8_t> weights);

  std::shared_ptr<const CudaContext> context_;
  GpuProgram program_;  // without the images' bytes
  std::vector<CudaModule> modules_;
  std::vector<std::vector<CudaFunctionHandle>> functions_;
  CudaMemory weights_;
  CudaPool pool_;
};

// Whether a target's name ends like that of sm_90a, whose code is for one arch alone.
bool HasSuffix(const std::string& target);

// Which of an image's codes a device runs. Machine code runs on devices of the same generation that
// are not older, that of an arch with a suffix ("sm_90a") on that very one; PTX on newer ones.
enum class CudaImageChoice : uint8_t { kCode, kPtx, kNone };
CudaImageChoice ChooseImage(int device_sm, int code_sm, bool has_suffix, bool has_ptx);

}  // namespace tcc
