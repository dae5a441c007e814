#include "runtime/opencl/opencl_driver.h"

#include <dlfcn.h>

#include <algorithm>

#include "support/environment.h"
#include "support/opened_library.h"
#include "support/printable.h"

namespace tcc {
namespace {

// The names of -1, -2, ... and of -30, -31, ...
constexpr std::string_view kRuntimeErrors[] = {
    "CL_DEVICE_NOT_FOUND",
    "CL_DEVICE_NOT_AVAILABLE",
    "CL_COMPILER_NOT_AVAILABLE",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "CL_OUT_OF_RESOURCES",
    "CL_OUT_OF_HOST_MEMORY",
    "CL_PROFILING_INFO_NOT_AVAILABLE",
    "CL_MEM_COPY_OVERLAP",
    "CL_IMAGE_FORMAT_MISMATCH",
    "CL_IMAGE_FORMAT_NOT_SUPPORTED",
    "CL_BUILD_PROGRAM_FAILURE",
    "CL_MAP_FAILURE",
    "CL_MISALIGNED_SUB_BUFFER_OFFSET",
    "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    "CL_COMPILE_PROGRAM_FAILURE",
    "CL_LINKER_NOT_AVAILABLE",
    "CL_LINK_PROGRAM_FAILURE",
    "CL_DEVICE_PARTITION_FAILED",
    "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
};
constexpr std::string_view kUseErrors[] = {
    "CL_INVALID_VALUE",
    "CL_INVALID_DEVICE_TYPE",
    "CL_INVALID_PLATFORM",
    "CL_INVALID_DEVICE",
    "CL_INVALID_CONTEXT",
    "CL_INVALID_QUEUE_PROPERTIES",
    "CL_INVALID_COMMAND_QUEUE",
    "CL_INVALID_HOST_PTR",
    "CL_INVALID_MEM_OBJECT",
    "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
    "CL_INVALID_IMAGE_SIZE",
    "CL_INVALID_SAMPLER",
    "CL_INVALID_BINARY",
    "CL_INVALID_BUILD_OPTIONS",
    "CL_INVALID_PROGRAM",
    "CL_INVALID_PROGRAM_EXECUTABLE",
    "CL_INVALID_KERNEL_NAME",
    "CL_INVALID_KERNEL_DEFINITION",
    "CL_INVALID_KERNEL",
    "CL_INVALID_ARG_INDEX",
    "CL_INVALID_ARG_VALUE",
    "CL_INVALID_ARG_SIZE",
    "CL_INVALID_KERNEL_ARGS",
    "CL_INVALID_WORK_DIMENSION",
    "CL_INVALID_WORK_GROUP_SIZE",
    "CL_INVALID_WORK_ITEM_SIZE",
    "CL_INVALID_GLOBAL_OFFSET",
    "CL_INVALID_EVENT_WAIT_LIST",
    "CL_INVALID_EVENT",
    "CL_INVALID_OPERATION",
    "CL_INVALID_GL_OBJECT",
    "CL_INVALID_BUFFER_SIZE",
    "CL_INVALID_MIP_LEVEL",
    "CL_INVALID_GLOBAL_WORK_SIZE",
    "CL_INVALID_PROPERTY",
    "CL_INVALID_IMAGE_DESCRIPTOR",
    "CL_INVALID_COMPILER_OPTIONS",
    "CL_INVALID_LINKER_OPTIONS",
    "CL_INVALID_DEVICE_PARTITION_COUNT",
    "CL_INVALID_PIPE_SIZE",
    "CL_INVALID_DEVICE_QUEUE",
    "CL_INVALID_SPEC_ID",
    "CL_MAX_SIZE_RESTRICTION_EXCEEDED",
};
constexpr OpenClResult kFirstUseError = -30;

std::string_view NameOf(OpenClResult result) {
  if (result == kOpenClPlatformNotFound) return "CL_PLATFORM_NOT_FOUND_KHR";
  if (result < 0 && result >= -std::ssize(kRuntimeErrors)) return kRuntimeErrors[-result - 1];
  if (result <= kFirstUseError && result > kFirstUseError - std::ssize(kUseErrors)) {
    return kUseErrors[kFirstUseError - result];
  }
  return "unknown";
}

// Which of our Status codes an error stands for.
absl::StatusCode CodeOf(OpenClResult result) {
  switch (result) {
    case kOpenClAllocationFailed:
    case kOpenClOutOfResources:
    case kOpenClOutOfHostMemory:
    case kOpenClInvalidBufferSize:
      return absl::StatusCode::kResourceExhausted;
    case kOpenClDeviceNotFound:
    case kOpenClDeviceNotAvailable:
    case kOpenClCompilerNotAvailable:
    case kOpenClInvalidDevice:
    case kOpenClPlatformNotFound:
      return absl::StatusCode::kUnavailable;
    case kOpenClBuildFailed:
    case kOpenClInvalidBinary:
    case kOpenClInvalidExecutable:
    case kOpenClInvalidKernelName:
    case kOpenClInvalidArgumentIndex:
    case kOpenClInvalidArgumentValue:
    case kOpenClInvalidArgumentSize:
    case kOpenClInvalidKernelArguments:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

constexpr Symbol<OpenClDriver> kSymbols[] = {
#define TCC_OPENCL_SYMBOL(result, call, parameters) SymbolFor<&OpenClDriver::call>(#call),
    TCC_OPENCL_CALLS(TCC_OPENCL_SYMBOL)
#undef TCC_OPENCL_SYMBOL
};

constexpr char kListing[] = "listing the OpenCL devices";
constexpr char kAsking[] = "asking an OpenCL device what it can do";

struct DeviceOfPlatform {
  OpenClPlatform platform;
  OpenClDeviceHandle device;
};

StatusOr<std::vector<OpenClPlatform>> ListPlatforms(const OpenClDriver& driver) {
  uint32_t count = 0;
  const OpenClResult result = driver.clGetPlatformIDs(0, nullptr, &count);
  if (result == kOpenClPlatformNotFound) return std::vector<OpenClPlatform>();
  TCC_RETURN_IF_ERROR(OpenClStatus(result, "clGetPlatformIDs", kListing));
  std::vector<OpenClPlatform> platforms(count);
  if (count == 0) return platforms;
  TCC_RETURN_IF_ERROR(
      TCC_OPENCL_CALL(driver, kListing, clGetPlatformIDs, count, platforms.data(), nullptr));
  return platforms;
}

// Adds the devices of one platform.
Status AddDevices(const OpenClDriver& driver, OpenClPlatform platform,
                  std::vector<DeviceOfPlatform>& all) {
  uint32_t count = 0;
  const OpenClResult result =
      driver.clGetDeviceIDs(platform, kOpenClAllDevices, 0, nullptr, &count);
  if (result == kOpenClDeviceNotFound) return OkStatus();
  TCC_RETURN_IF_ERROR(OpenClStatus(result, "clGetDeviceIDs", kListing));
  if (count == 0) return OkStatus();
  std::vector<OpenClDeviceHandle> devices(count);
  TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver, kListing, clGetDeviceIDs, platform, kOpenClAllDevices,
                                      count, devices.data(), nullptr));
  for (OpenClDeviceHandle device : devices) all.push_back({platform, device});
  return OkStatus();
}

StatusOr<std::vector<DeviceOfPlatform>> ListHandles(const OpenClDriver& driver) {
  TCC_ASSIGN_OR_RETURN(std::vector<OpenClPlatform> platforms, ListPlatforms(driver));
  std::vector<DeviceOfPlatform> all;
  for (OpenClPlatform platform : platforms) {
    TCC_RETURN_IF_ERROR(AddDevices(driver, platform, all));
  }
  return all;
}

// Returns what `ask(room, value, bytes)` says in text, without the zero at its end.
StatusOr<std::string> AskForText(const auto& ask) {
  size_t bytes = 0;
  TCC_RETURN_IF_ERROR(ask(0, nullptr, &bytes));
  std::string text(bytes, '\0');
  TCC_RETURN_IF_ERROR(ask(bytes, text.data(), nullptr));
  text.resize(std::min(text.find('\0'), text.size()));
  return Printable(text);
}

StatusOr<std::string> TextFact(const OpenClDriver& driver, OpenClDeviceHandle device,
                               OpenClDeviceFact fact) {
  return AskForText([&](size_t room, void* value, size_t* bytes) {
    return TCC_OPENCL_CALL(driver, kAsking, clGetDeviceInfo, device, fact, room, value, bytes);
  });
}

// Reads a fact into `value`, which is as wide as OpenCL says, or wider for a list.
template <typename Value>
Status ReadFact(const OpenClDriver& driver, OpenClDeviceHandle device, OpenClDeviceFact fact,
                Value& value) {
  return TCC_OPENCL_CALL(driver, kAsking, clGetDeviceInfo, device, fact, sizeof(value), &value,
                         nullptr);
}

// A number of the device, of the type that OpenCL gives it.
struct NumberFact {
  OpenClDeviceFact fact;
  size_t bytes;
  int64_t OpenClDeviceInfo::* field;
};
constexpr NumberFact kNumbers[] = {
    {kOpenClComputeUnits, sizeof(uint32_t), &OpenClDeviceInfo::compute_units},
    {kOpenClClockMhz, sizeof(uint32_t), &OpenClDeviceInfo::clock_mhz},
    {kOpenClMaxThreads, sizeof(size_t), &OpenClDeviceInfo::max_threads},
    {kOpenClLocalBytes, sizeof(uint64_t), &OpenClDeviceInfo::local_bytes},
    {kOpenClMaxArgumentBytes, sizeof(size_t), &OpenClDeviceInfo::argument_bytes},
    {kOpenClGlobalBytes, sizeof(uint64_t), &OpenClDeviceInfo::memory_bytes},
    {kOpenClCacheBytes, sizeof(uint64_t), &OpenClDeviceInfo::cache_bytes},
    {kOpenClMaxAllocationBytes, sizeof(uint64_t), &OpenClDeviceInfo::max_allocation_bytes},
};

Status ReadNumber(const OpenClDriver& driver, const NumberFact& row, OpenClDeviceInfo& info) {
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (row.bytes == sizeof(narrow)) {
    TCC_RETURN_IF_ERROR(ReadFact(driver, info.handle, row.fact, narrow));
    wide = narrow;
  } else {
    TCC_RETURN_IF_ERROR(ReadFact(driver, info.handle, row.fact, wide));
  }
  info.*row.field = static_cast<int64_t>(std::min<uint64_t>(wide, INT64_MAX));
  return OkStatus();
}

struct TextRow {
  OpenClDeviceFact fact;
  std::string OpenClDeviceInfo::* field;
};
constexpr TextRow kTexts[] = {
    {kOpenClDeviceName, &OpenClDeviceInfo::name},
    {kOpenClDeviceVersion, &OpenClDeviceInfo::version},
    {kOpenClDriverVersion, &OpenClDeviceInfo::driver_version},
};

StatusOr<OpenClDeviceInfo> InfoOf(const OpenClDriver& driver, const DeviceOfPlatform& of,
                                  int ordinal) {
  OpenClDeviceInfo info;
  info.ordinal = ordinal;
  info.platform = of.platform;
  info.handle = of.device;
  TCC_ASSIGN_OR_RETURN(info.platform_name, AskForText([&](size_t room, void* value, size_t* bytes) {
                         return TCC_OPENCL_CALL(driver, kListing, clGetPlatformInfo, of.platform,
                                                kOpenClPlatformName, room, value, bytes);
                       }));
  for (const TextRow& row : kTexts) {
    TCC_ASSIGN_OR_RETURN(info.*row.field, TextFact(driver, of.device, row.fact));
  }
  for (const NumberFact& row : kNumbers) TCC_RETURN_IF_ERROR(ReadNumber(driver, row, info));
  // One for each dimension; OpenCL has 3 at least.
  std::array<size_t, 8> along{};
  TCC_RETURN_IF_ERROR(ReadFact(driver, of.device, kOpenClMaxThreadsAlong, along));
  for (size_t i = 0; i < info.max_threads_along.size(); ++i) {
    info.max_threads_along[i] = static_cast<int64_t>(std::min<size_t>(along[i], INT64_MAX));
  }
  OpenClFlags abilities = 0;
  TCC_RETURN_IF_ERROR(ReadFact(driver, of.device, kOpenClFloatAbilities, abilities));
  info.rounds_division = (abilities & kOpenClRoundsDivision) != 0;
  OpenClFlags type = 0;
  TCC_RETURN_IF_ERROR(ReadFact(driver, of.device, kOpenClDeviceType, type));
  info.is_cpu = (type & kOpenClCpu) != 0;
  return info;
}

}  // namespace

StatusOr<OpenClDriver> OpenOpenClDriver() {
  const std::string chosen = EnvironmentVariable("TCC_OPENCL_DRIVER");
  const std::string path = chosen.empty() ? "libOpenCL.so.1" : chosen;
  // Stays open for good: drivers keep threads of their own.
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Missing(
        "{} cannot be loaded; looked in TCC_OPENCL_DRIVER and the linker's path; install an OpenCL "
        "driver (on Debian, for a CPU: ocl-icd-libopencl1 and pocl-opencl-icd) or set "
        "TCC_OPENCL_DRIVER ({})",
        path, ::dlerror());
  }
  return BindAll({handle, path}, kSymbols, "an OpenCL driver, 1.2 or newer");
}

Status OpenClStatus(OpenClResult result, std::string_view call, std::string_view what) {
  if (result == kOpenClSuccess) return OkStatus();
  return Status(CodeOf(result),
                fmt::format("{}: {} failed with {} ({})", what, call, NameOf(result), result));
}

StatusOr<OpenClDeviceInfo> FindOpenClDevice(const OpenClDriver& driver, int ordinal) {
  TCC_ASSIGN_OR_RETURN(std::vector<DeviceOfPlatform> handles, ListHandles(driver));
  if (ordinal < 0 || ordinal >= std::ssize(handles)) {
    return Missing("there is no OpenCL device {}; the driver has {}", ordinal, handles.size());
  }
  return InfoOf(driver, handles[static_cast<size_t>(ordinal)], ordinal);
}

StatusOr<std::vector<OpenClDeviceInfo>> ListOpenClDevices(const OpenClDriver& driver) {
  TCC_ASSIGN_OR_RETURN(std::vector<DeviceOfPlatform> handles, ListHandles(driver));
  std::vector<OpenClDeviceInfo> devices;
  for (const DeviceOfPlatform& handle : handles) {
    TCC_ASSIGN_OR_RETURN(OpenClDeviceInfo device,
                         InfoOf(driver, handle, static_cast<int>(devices.size())));
    devices.push_back(std::move(device));
  }
  return devices;
}

// A version is "OpenCL", a space, the number, a space, and what the vendor adds.
std::string Describe(const OpenClDeviceInfo& device) {
  const std::string& version = device.version;
  const size_t number = version.find(' ');
  const size_t end = number == std::string::npos ? number : version.find(' ', number + 1);
  return fmt::format("device {} ({}, {})", device.ordinal, device.name, version.substr(0, end));
}

}  // namespace tcc
