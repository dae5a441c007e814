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

// What a GPU reaches at best, measured by small kernels.
struct GpuCeiling {
  double fma_gflops = 0;   // float32, in registers alone
  double copy_gbytes = 0;  // read and written together, from and to memory
  double l2_gbytes = 0;    // the same where all of it stays in the L2 cache
  double launch_us = 0;    // from one kernel of a graph to the next, both empty
  // Of products on tensor cores (mma_peaks.h), by the type of their operands; of integers these are
  // no float operations.
  std::vector<std::pair<std::string, double>> mma_gflops;

  // What products in a mode reach: of strict ones fma_gflops; 0 where the target has none.
  double GflopsOf(NumericMode mode) const;
};

struct CalibrationOptions {
  Target target;
  GpuCode code = GpuCode::kCubin;
  bool quick = false;  // only to see that it works: little work, no meaning
  // Of the products on tensor cores those to measure, as far as the target has them.
  std::vector<std::string_view> mma_types = {"f16", "bf16", "tf32", "s8"};
};

// Unavailable without a device that runs code for the target; NVRTC's errors.
StatusOr<GpuCeiling> CalibrateGpu(const CalibrationOptions& options);

// Of the kernels: what CalibrateGpu loads. With a cache nothing need be compiled later.
StatusOr<GpuProgram> CalibrationProgram(const CalibrationOptions& options);

// The device that TCC_CUDA_DEVICE chooses.
StatusOr<CudaDeviceInfo> ChosenGpu();

}  // namespace tcc
