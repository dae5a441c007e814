#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_driver.h"

namespace tcc {

// The peak rates of a GPU's units, at the clocks that its driver names. Boards of the GeForce
// series multiply f16 and bf16 on tensor cores at half the rate of their arch.
struct CudaPeaks {
  double fma_gflops = 0;  // of float32
  // The rates of products on tensor cores, by the type of their operands: "f16", "bf16", "tf32",
  // "s8"; without the types that the arch does not have.
  std::vector<std::pair<std::string_view, double>> mma_gflops;
  double memory_gbytes = 0;  // 0: the driver does not say
};

CudaPeaks PeaksOf(const CudaDriver& driver, const CudaDeviceInfo& device);

}  // namespace tcc
