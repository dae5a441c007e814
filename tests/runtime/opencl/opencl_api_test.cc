#include "support/opencl/opencl_api.h"

#include <catch2/catch.hpp>

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "tests/runtime/passed_alike.h"

// Where OpenCL's headers are, their declarations are held against ours.
namespace {

using tcc::test::Alike;
using tcc::test::Same;

#define TCC_HOLD_AGAINST_HEADER(result, name, parameters) \
  static_assert(Alike<decltype(tcc::OpenClDriver::name), decltype(&::name)>::value, #name);
TCC_OPENCL_CALLS(TCC_HOLD_AGAINST_HEADER)
#undef TCC_HOLD_AGAINST_HEADER

static_assert(Same(tcc::kOpenClPlatformName, CL_PLATFORM_NAME));
static_assert(Same(tcc::kOpenClComputeUnits, CL_DEVICE_MAX_COMPUTE_UNITS));
static_assert(Same(tcc::kOpenClMaxThreads, CL_DEVICE_MAX_WORK_GROUP_SIZE));
static_assert(Same(tcc::kOpenClMaxThreadsAlong, CL_DEVICE_MAX_WORK_ITEM_SIZES));
static_assert(Same(tcc::kOpenClClockMhz, CL_DEVICE_MAX_CLOCK_FREQUENCY));
static_assert(Same(tcc::kOpenClMaxAllocationBytes, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
static_assert(Same(tcc::kOpenClMaxArgumentBytes, CL_DEVICE_MAX_PARAMETER_SIZE));
static_assert(Same(tcc::kOpenClFloatAbilities, CL_DEVICE_SINGLE_FP_CONFIG));
static_assert(Same(tcc::kOpenClGlobalBytes, CL_DEVICE_GLOBAL_MEM_SIZE));
static_assert(Same(tcc::kOpenClCacheBytes, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
static_assert(Same(tcc::kOpenClDeviceType, CL_DEVICE_TYPE));
static_assert(Same(tcc::kOpenClCpu, CL_DEVICE_TYPE_CPU));
static_assert(Same(tcc::kOpenClLocalBytes, CL_DEVICE_LOCAL_MEM_SIZE));
static_assert(Same(tcc::kOpenClDeviceName, CL_DEVICE_NAME));
static_assert(Same(tcc::kOpenClDriverVersion, CL_DRIVER_VERSION));
static_assert(Same(tcc::kOpenClDeviceVersion, CL_DEVICE_VERSION));
static_assert(Same(tcc::kOpenClBinarySizes, CL_PROGRAM_BINARY_SIZES));
static_assert(Same(tcc::kOpenClBinaries, CL_PROGRAM_BINARIES));
static_assert(Same(tcc::kOpenClBuildLog, CL_PROGRAM_BUILD_LOG));
static_assert(Same(tcc::kOpenClArgumentCount, CL_KERNEL_NUM_ARGS));
static_assert(Same(tcc::kOpenClKernelMaxThreads, CL_KERNEL_WORK_GROUP_SIZE));
static_assert(Same(tcc::kOpenClKernelBlock, CL_KERNEL_COMPILE_WORK_GROUP_SIZE));
static_assert(Same(tcc::kOpenClEventStatus, CL_EVENT_COMMAND_EXECUTION_STATUS));
static_assert(Same(tcc::kOpenClStarted, CL_PROFILING_COMMAND_START));
static_assert(Same(tcc::kOpenClEnded, CL_PROFILING_COMMAND_END));
static_assert(Same(tcc::kOpenClAllDevices, CL_DEVICE_TYPE_ALL));
static_assert(Same(tcc::kOpenClRoundsDivision, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT));
static_assert(Same(tcc::kOpenClProfiling, CL_QUEUE_PROFILING_ENABLE));
static_assert(Same(tcc::kOpenClReadWrite, CL_MEM_READ_WRITE));
static_assert(Same(tcc::kOpenClCopyOfHost, CL_MEM_COPY_HOST_PTR));
static_assert(Same(tcc::kOpenClContextPlatform, CL_CONTEXT_PLATFORM));
static_assert(Same(tcc::kOpenClDeviceNotFound, CL_DEVICE_NOT_FOUND));
static_assert(Same(tcc::kOpenClDeviceNotAvailable, CL_DEVICE_NOT_AVAILABLE));
static_assert(Same(tcc::kOpenClCompilerNotAvailable, CL_COMPILER_NOT_AVAILABLE));
static_assert(Same(tcc::kOpenClAllocationFailed, CL_MEM_OBJECT_ALLOCATION_FAILURE));
static_assert(Same(tcc::kOpenClOutOfResources, CL_OUT_OF_RESOURCES));
static_assert(Same(tcc::kOpenClOutOfHostMemory, CL_OUT_OF_HOST_MEMORY));
static_assert(Same(tcc::kOpenClBuildFailed, CL_BUILD_PROGRAM_FAILURE));
static_assert(Same(tcc::kOpenClInvalidDevice, CL_INVALID_DEVICE));
static_assert(Same(tcc::kOpenClInvalidBinary, CL_INVALID_BINARY));
static_assert(Same(tcc::kOpenClInvalidExecutable, CL_INVALID_PROGRAM_EXECUTABLE));
static_assert(Same(tcc::kOpenClInvalidKernelName, CL_INVALID_KERNEL_NAME));
static_assert(Same(tcc::kOpenClInvalidArgumentIndex, CL_INVALID_ARG_INDEX));
static_assert(Same(tcc::kOpenClInvalidArgumentValue, CL_INVALID_ARG_VALUE));
static_assert(Same(tcc::kOpenClInvalidArgumentSize, CL_INVALID_ARG_SIZE));
static_assert(Same(tcc::kOpenClInvalidKernelArguments, CL_INVALID_KERNEL_ARGS));
static_assert(Same(tcc::kOpenClInvalidBufferSize, CL_INVALID_BUFFER_SIZE));
static_assert(Same(tcc::kOpenClPlatformNotFound, CL_PLATFORM_NOT_FOUND_KHR));

}  // namespace

TEST_CASE("our declarations of OpenCL are those of its header", "[runtime][opencl]") {
  SUCCEED("held when this file was compiled");
}
#else
TEST_CASE("our declarations of OpenCL are those of its header", "[runtime][opencl]") {
  WARN("SKIP: no CL/cl.h on this machine to hold them against; install opencl-c-headers");
}
#endif
