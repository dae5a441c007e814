#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/artefact/gpu_program.h"
#include "runtime/cuda/cuda_context.h"
#include "support/target.h"
#include "support/tensor.h"

namespace tcc {

// Compiles a text for the target by NVRTC, or finds it in the cache of programs; for the emulated
// driver as a library the text is the image.
StatusOr<GpuImage> ImageOf(const std::string& text, const Target& target, GpuCode code);

// Makes a tensor of bytes 0xff: NaN, or -1.
Tensor Poisoned(DType dtype, std::vector<int64_t> shape);

// Runs a kernel of the image, without shapes, on the device that the runtime chooses. The tensors
// are copied into its buffers, and replaced by what these hold then.
Status RunKernel(const GpuImage& image, const GpuKernel& kernel, const Target& target, GpuCode code,
                 std::vector<Tensor>& buffers);

// Opens the device that the runtime chooses. While its context is held, no kernel makes it anew,
// which takes some tenths of a second.
StatusOr<std::shared_ptr<const CudaContext>> OpenDevice();

// Returns the target with the best code for that device.
StatusOr<Target> TargetOfDevice();

}  // namespace tcc
