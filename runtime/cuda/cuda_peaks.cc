#include "runtime/cuda/cuda_peaks.h"

namespace tcc {
namespace {

// Multiply-adds of a multiprocessor in a cycle, dense, sums in float32 (NVIDIA's white papers of
// TU104, A100, A10, L40S, H100, at their boost clocks).
struct MmaRate {
  int sm;
  int f16, bf16, tf32, s8;
};
constexpr MmaRate kRates[] = {
    {75, 512, 0, 0, 1024},     {80, 1024, 1024, 512, 2048},  {86, 512, 512, 256, 1024},
    {89, 512, 512, 256, 1024}, {90, 2048, 2048, 1024, 4096},
};

// 0 where the driver does not know it.
int64_t Attribute(const CudaDriver& driver, const CudaDeviceInfo& device, int attribute) {
  int value = 0;
  int result = driver.cuDeviceGetAttribute(&value, attribute, device.handle);
  return result == kCudaSuccess ? value : 0;
}

}  // namespace

CudaPeaks PeaksOf(const CudaDriver& driver, const CudaDeviceInfo& device) {
  CudaPeaks peaks;
  peaks.fma_gflops = PeakGflops(device);
  double cycles = 1e-6 * static_cast<double>(int64_t{device.multiprocessors} * device.clock_khz);
  for (const MmaRate& rate : kRates) {
    if (rate.sm != device.sm) continue;
    const std::pair<std::string_view, int> of_type[] = {
        {"f16", rate.f16}, {"bf16", rate.bf16}, {"tf32", rate.tf32}, {"s8", rate.s8}};
    for (const auto& [type, multiply_adds] : of_type) {
      if (multiply_adds > 0) peaks.mma_gflops.emplace_back(type, 2 * multiply_adds * cycles);
    }
  }
  int64_t clock_khz = Attribute(driver, device, kCudaMemoryClockKhz);
  int64_t bits = Attribute(driver, device, kCudaMemoryBusBits);
  // Two transfers a cycle.
  peaks.memory_gbytes = 2e-6 / 8 * static_cast<double>(clock_khz * bits);
  return peaks;
}

}  // namespace tcc
