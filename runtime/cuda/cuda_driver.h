#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/cuda/cuda_api.h"
#include "support/status.h"

namespace tcc {

// Opens libcuda: the file that TCC_CUDA_DRIVER names, else libcuda.so.1 in the linker's path.
// Unavailable if there is none or it lacks a function.
StatusOr<CudaDriver> OpenCudaDriver();

// Returns the newest CUDA that the driver supports: 12040 for 12.4.
StatusOr<int> CudaVersionOf(const CudaDriver& driver);
// Returns "12.4" for 12040.
std::string CudaVersionText(int version);

// Converts a result of the driver into a Status. The message names the call, the error and `what`
// was going on ("loading image 0"). The code depends on the error: ResourceExhausted for memory,
// Unavailable for what this machine lacks, InvalidArgument for kernels that it cannot load, else
// Internal.
Status CudaStatus(const CudaDriver& driver, CudaResult result, std::string_view call,
                  std::string_view what);

// Makes one call of the driver and returns its CudaStatus: TCC_CUDA_CALL(driver, "starting",
// cuInit, 0). `what` is evaluated only if it fails.
#define TCC_CUDA_CALL(driver, what, call, ...)                   \
  [&]() -> ::tcc::Status {                                       \
    const ::tcc::CudaResult result = (driver).call(__VA_ARGS__); \
    if (result == ::tcc::kCudaSuccess) return ::tcc::OkStatus(); \
    return ::tcc::CudaStatus((driver), result, #call, what);     \
  }()

struct CudaDeviceInfo {
  int ordinal = 0;
  CudaDeviceHandle handle = 0;  // the driver's handle for the device
  std::string name;
  int sm = 0;  // 86 for sm_86
  int multiprocessors = 0;
  int clock_khz = 0;  // the highest clock of the multiprocessors
  int64_t memory_bytes = 0;
  int64_t shared_bytes = 0;  // the most per block, if it asks for more than the default
  int64_t l2_bytes = 0;
  bool has_pools = false;  // memory can be allocated and freed in stream order
};

StatusOr<std::vector<CudaDeviceInfo>> ListCudaDevices(const CudaDriver& driver);
// Fails with Unavailable if there is no such device.
StatusOr<CudaDeviceInfo> FindCudaDevice(const CudaDriver& driver, int ordinal);

// Returns the peak of float32 at the highest clock; a multiply-add counts as two operations.
double PeakGflops(const CudaDeviceInfo& device);

// Returns "device 0 (NVIDIA H200, sm_90)".
std::string Describe(const CudaDeviceInfo& device);

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
