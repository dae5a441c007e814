#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/artefact/gpu_program.h"
#include "runtime/cuda/cuda_driver.h"
#include "support/numeric_mode.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// The best rates that a GPU reaches, measured by small kernels.
struct GpuCeiling {
  double fma_gflops = 0;   // float32, in registers alone
  double copy_gbytes = 0;  // read and written together, from and to memory
  double l2_gbytes = 0;    // the same where all data stays in the L2 cache
  double launch_us = 0;    // from one kernel of a graph to the next, both empty
  // The rates of products on tensor cores (mma_peaks.h), by the type of their operands; products of
  // integers are no float operations.
  std::vector<std::pair<std::string, double>> mma_gflops;

  // Returns the rate of products in a mode: fma_gflops for strict ones; 0 where the target has
  // none.
  double GflopsOf(NumericMode mode) const;
};

struct CalibrationOptions {
  Target target;
  GpuCode code = GpuCode::kCubin;
  bool quick = false;  // only to see that it works: little work, no meaning
  // The types to measure on tensor cores, as far as the target has them.
  std::vector<std::string_view> mma_types = {"f16", "bf16", "tf32", "s8"};
};

// Measures the GPU. Unavailable without a device that runs code for the target; NVRTC's errors.
StatusOr<GpuCeiling> CalibrateGpu(const CalibrationOptions& options);

// Returns the program that CalibrateGpu loads. With a cache nothing need be compiled later.
StatusOr<GpuProgram> CalibrationProgram(const CalibrationOptions& options);

// Returns the device that TCC_CUDA_DEVICE chooses.
StatusOr<CudaDeviceInfo> ChosenGpu();

}  // namespace tcc
