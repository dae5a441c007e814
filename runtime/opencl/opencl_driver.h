#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "support/opencl/opencl_api.h"
#include "support/status.h"

namespace tcc {

// Opens an OpenCL driver, or the loader that hands on to all that are installed: the file that
// TCC_OPENCL_DRIVER names, else libOpenCL.so.1 in the linker's path. Unavailable if there is none
// or it lacks a function.
StatusOr<OpenClDriver> OpenOpenClDriver();

// Converts a result of the driver into a Status. The message names the call, the error and `what`
// was going on ("building image 0"). The code depends on the error: ResourceExhausted for memory,
// Unavailable for what this machine lacks, InvalidArgument for kernels that it cannot build or that
// do not take the arguments of their launches, else Internal.
Status OpenClStatus(OpenClResult result, std::string_view call, std::string_view what);

// Makes one call that returns a result, and returns its OpenClStatus: TCC_OPENCL_CALL(driver,
// "running", clFinish, queue). `what` is evaluated only if it fails.
#define TCC_OPENCL_CALL(driver, what, call, ...)                   \
  [&]() -> ::tcc::Status {                                         \
    const ::tcc::OpenClResult result = (driver).call(__VA_ARGS__); \
    if (result == ::tcc::kOpenClSuccess) return ::tcc::OkStatus(); \
    return ::tcc::OpenClStatus(result, #call, what);               \
  }()

// Makes one call that makes an object, and returns the object or its OpenClStatus. The arguments
// are all but the last one, through which the call returns its result.
#define TCC_OPENCL_MAKE(driver, what, call, ...)                                          \
  [&]() -> ::tcc::StatusOr<decltype((driver).call(__VA_ARGS__, nullptr))> {               \
    ::tcc::OpenClResult result = ::tcc::kOpenClSuccess;                                   \
    auto* made = (driver).call(__VA_ARGS__, &result);                                     \
    if (result != ::tcc::kOpenClSuccess) return ::tcc::OpenClStatus(result, #call, what); \
    return made;                                                                          \
  }()

// A device of OpenCL and its limits.
struct OpenClDeviceInfo {
  int ordinal = 0;  // over the devices of all platforms
  OpenClPlatform platform = nullptr;
  OpenClDeviceHandle handle = nullptr;
  std::string name;
  std::string platform_name;
  std::string version;  // "OpenCL 1.2 pocl HSTR: ..."
  std::string driver_version;
  int64_t compute_units = 0;
  int64_t clock_mhz = 0;
  int64_t max_threads = 0;                        // of a thread block
  std::array<int64_t, 3> max_threads_along = {};  // x, y, z of a thread block
  int64_t local_bytes = 0;                        // of a thread block
  int64_t argument_bytes = 0;                     // of a kernel
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;           // of the memory
  int64_t max_allocation_bytes = 0;  // of one buffer
  bool rounds_division = false;      // float32 divides and square roots can round to nearest
  bool is_cpu = false;               // kernels run on the host's CPU
};

// Lists the devices of all platforms in the driver's order; none without a platform.
StatusOr<std::vector<OpenClDeviceInfo>> ListOpenClDevices(const OpenClDriver& driver);
// Fails with Unavailable if there is no such device.
StatusOr<OpenClDeviceInfo> FindOpenClDevice(const OpenClDriver& driver, int ordinal);

// Returns "device 0 (gfx906, OpenCL 2.0)".
std::string Describe(const OpenClDeviceInfo& device);

}  // namespace tcc
