#include "runtime/cuda/cuda_driver.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

#include "support/cuda/cuda_library.h"

namespace tcc {
namespace {

// Which of our Status codes an error stands for.
absl::StatusCode CodeOf(CudaResult result) {
  switch (result) {
    case kCudaOutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case kCudaNotInitialized:
    case kCudaStubLibrary:
    case kCudaNewerDriverNeeded:
    case kCudaDeviceUnavailable:
    case kCudaNoDevice:
    case kCudaInvalidDevice:
    case kCudaNoBinaryForGpu:
    case kCudaJitCompilerNotFound:
    case kCudaUnsupportedPtxVersion:
    case kCudaSystemNotReady:
    case kCudaSystemDriverMismatch:
    case kCudaCompatNotSupported:
      return absl::StatusCode::kUnavailable;
    case kCudaInvalidImage:
    case kCudaInvalidPtx:
    case kCudaNotFound:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

// "cuMemAlloc" for cuMemAlloc_v2.
std::string_view PublicName(std::string_view call) {
  return call.substr(0, call.rfind("_v"));
}

constexpr bool IsRequired(std::string_view call) {
  return call != "cuLaunchKernelEx" && call != "cuTensorMapEncodeTiled";
}

constexpr Symbol<CudaDriver> kSymbols[] = {
#define TCC_CUDA_SYMBOL(call, parameters, names) \
  SymbolFor<&CudaDriver::call>(#call, IsRequired(#call)),
    TCC_CUDA_CALLS(TCC_CUDA_SYMBOL)
#undef TCC_CUDA_SYMBOL
};

// Stays open for good: the driver keeps threads of its own.
StatusOr<OpenedLibrary> OpenLibrary(const std::string& path) {
  if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    return OpenedLibrary{handle, path};
  }
  return Missing(
      "{} cannot be loaded; looked in TCC_CUDA_DRIVER and the linker's path; install NVIDIA's "
      "driver or set TCC_CUDA_DRIVER ({})",
      path, ::dlerror());
}

StatusOr<int> Attribute(const CudaDriver& driver, CudaDeviceAttribute attribute,
                        CudaDeviceHandle device) {
  int value = 0;
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "asking a device what it can do", cuDeviceGetAttribute,
                                    &value, attribute, device));
  return value;
}

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

// Returns 0 where the driver does not know it.
int64_t AttributeOrZero(const CudaDriver& driver, const CudaDeviceInfo& device, int attribute) {
  int value = 0;
  int result = driver.cuDeviceGetAttribute(&value, attribute, device.handle);
  return result == kCudaSuccess ? value : 0;
}

}  // namespace

StatusOr<CudaDriver> OpenCudaDriver() {
  const char* chosen = std::getenv("TCC_CUDA_DRIVER");
  const std::string path = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  TCC_ASSIGN_OR_RETURN(OpenedLibrary library, OpenLibrary(path));
  TCC_ASSIGN_OR_RETURN(CudaDriver driver,
                       BindAll(library, kSymbols, "the CUDA driver, 11.4 or newer"));
  driver.takes_notes = ::dlsym(library.handle, kCudaTakesNotes) != nullptr;
  return driver;
}

StatusOr<int> CudaVersionOf(const CudaDriver& driver) {
  int version = 0;
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "asking the CUDA driver for its version",
                                    cuDriverGetVersion, &version));
  return version;
}

std::string CudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Status CudaStatus(const CudaDriver& driver, CudaResult result, std::string_view call,
                  std::string_view what) {
  if (result == kCudaSuccess) return OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName(result, &name) != kCudaSuccess || name == nullptr) name = "unknown";
  if (driver.cuGetErrorString(result, &text) != kCudaSuccess || text == nullptr) text = "";
  return Status(CodeOf(result),
                fmt::format("{}: {} failed with {} ({}){}{}", what, PublicName(call), name, result,
                            *text != '\0' ? ": " : "", text));
}

StatusOr<CudaDeviceInfo> FindCudaDevice(const CudaDriver& driver, int ordinal) {
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "starting the CUDA driver", cuInit, 0));
  int count = 0;
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "counting the CUDA devices", cuDeviceGetCount, &count));
  if (ordinal < 0 || ordinal >= count) {
    return Missing("there is no CUDA device {}; the driver has {}", ordinal, count);
  }
  CudaDeviceInfo info;
  info.ordinal = ordinal;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, "choosing a CUDA device", cuDeviceGet, &info.handle, ordinal));
  const CudaDeviceHandle device = info.handle;
  std::array<char, 128> name{};
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "asking a device for its name", cuDeviceGetName,
                                    name.data(), static_cast<int>(name.size()) - 1, device));
  info.name = name.data();
  TCC_ASSIGN_OR_RETURN(int major, Attribute(driver, kCudaArchMajor, device));
  TCC_ASSIGN_OR_RETURN(int minor, Attribute(driver, kCudaArchMinor, device));
  info.sm = 10 * major + minor;
  TCC_ASSIGN_OR_RETURN(info.multiprocessors, Attribute(driver, kCudaMultiprocessors, device));
  TCC_ASSIGN_OR_RETURN(info.clock_khz, Attribute(driver, kCudaClockKhz, device));
  TCC_ASSIGN_OR_RETURN(info.shared_bytes, Attribute(driver, kCudaSharedBytesOptIn, device));
  TCC_ASSIGN_OR_RETURN(info.l2_bytes, Attribute(driver, kCudaL2Bytes, device));
  TCC_ASSIGN_OR_RETURN(int pools, Attribute(driver, kCudaMemoryPools, device));
  info.has_pools = pools != 0;
  size_t bytes = 0;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, "asking a device for its memory", cuDeviceTotalMem_v2, &bytes, device));
  info.memory_bytes = static_cast<int64_t>(bytes);
  return info;
}

StatusOr<std::vector<CudaDeviceInfo>> ListCudaDevices(const CudaDriver& driver) {
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "starting the CUDA driver", cuInit, 0));
  int count = 0;
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "counting the CUDA devices", cuDeviceGetCount, &count));
  std::vector<CudaDeviceInfo> devices;
  for (int i = 0; i < count; ++i) {
    TCC_ASSIGN_OR_RETURN(CudaDeviceInfo device, FindCudaDevice(driver, i));
    devices.push_back(std::move(device));
  }
  return devices;
}

double PeakGflops(const CudaDeviceInfo& device) {
  // CUDA C Programming Guide, throughput of native arithmetic instructions.
  const bool narrow = device.sm == 70 || device.sm == 75 || device.sm == 80;
  const int64_t lanes = int64_t{device.multiprocessors} * (narrow ? 64 : 128);
  return 2e-6 * static_cast<double>(lanes * device.clock_khz);
}

std::string Describe(const CudaDeviceInfo& device) {
  return fmt::format("device {} ({}, sm_{})", device.ordinal, device.name, device.sm);
}

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
  int64_t clock_khz = AttributeOrZero(driver, device, kCudaMemoryClockKhz);
  int64_t bits = AttributeOrZero(driver, device, kCudaMemoryBusBits);
  // Two transfers a cycle.
  peaks.memory_gbytes = 2e-6 / 8 * static_cast<double>(clock_khz * bits);
  return peaks;
}

}  // namespace tcc
