#pragma once

#include <cstddef>
#include <cstdint>

// The part of OpenCL's interface (1.2 and newer) that tcc uses, declared here so that no header is
// needed to build; tests hold it against CL/cl.h where there is one.
namespace tcc {

using OpenClResult = int32_t;
using OpenClFlags = uint64_t;
using OpenClPlatform = struct OpenClPlatformObject*;
using OpenClDeviceHandle = struct OpenClDeviceObject*;
using OpenClContextHandle = struct OpenClContextObject*;
using OpenClQueueHandle = struct OpenClQueueObject*;
using OpenClBuffer = struct OpenClBufferObject*;
using OpenClProgramHandle = struct OpenClProgramObject*;
using OpenClKernelHandle = struct OpenClKernelObject*;
using OpenClEventHandle = struct OpenClEventObject*;
// The functions that a driver may call back; tcc passes none.
using OpenClContextCallback = void (*)(const char*, const void*, size_t, void*);
using OpenClProgramCallback = void (*)(OpenClProgramHandle, void*);

// Values of the enumerations that are passed as uint32_t.
inline constexpr uint32_t kOpenClPlatformName = 0x0902;
enum OpenClDeviceFact : uint32_t {
  kOpenClDeviceType = 0x1000,
  kOpenClComputeUnits = 0x1002,
  kOpenClMaxThreads = 0x1004,       // of a work group
  kOpenClMaxThreadsAlong = 0x1005,  // each dimension
  kOpenClClockMhz = 0x100C,
  kOpenClMaxAllocationBytes = 0x1010,
  kOpenClMaxArgumentBytes = 0x1017,
  kOpenClFloatAbilities = 0x101B,
  kOpenClCacheBytes = 0x101E,  // of the memory
  kOpenClGlobalBytes = 0x101F,
  kOpenClLocalBytes = 0x1023,  // per work group
  kOpenClDeviceName = 0x102B,
  kOpenClDriverVersion = 0x102D,
  kOpenClDeviceVersion = 0x102F,
};
enum OpenClProgramFact : uint32_t { kOpenClBinarySizes = 0x1165, kOpenClBinaries = 0x1166 };
inline constexpr uint32_t kOpenClBuildLog = 0x1183;       // of a program
inline constexpr uint32_t kOpenClArgumentCount = 0x1191;  // of a kernel
enum OpenClKernelFact : uint32_t {
  kOpenClKernelMaxThreads = 0x11B0,
  kOpenClKernelBlock = 0x11B1,  // the block that its text requires, or zeros
};
inline constexpr uint32_t kOpenClEventStatus = 0x11D3;  // negative: an error
enum OpenClProfilingFact : uint32_t { kOpenClStarted = 0x1282, kOpenClEnded = 0x1283 };

// Bits and values of other types.
inline constexpr OpenClFlags kOpenClAllDevices = 0xFFFFFFFF;
inline constexpr OpenClFlags kOpenClCpu = 1 << 1;             // of OpenClDeviceType
inline constexpr OpenClFlags kOpenClRoundsDivision = 1 << 7;  // of OpenClFloatAbilities
inline constexpr OpenClFlags kOpenClProfiling = 1 << 1;       // a queue that takes time
inline constexpr OpenClFlags kOpenClReadWrite = 1 << 0;
inline constexpr OpenClFlags kOpenClCopyOfHost = 1 << 5;  // a buffer begins as a copy of memory
inline constexpr intptr_t kOpenClContextPlatform = 0x1084;

// Expands CALL(result, symbol in the library, parameters) for each function.
// clang-format off
#define TCC_OPENCL_CALLS(CALL) \
  CALL(OpenClResult, clGetPlatformIDs, \
       (uint32_t room, OpenClPlatform* platforms, uint32_t* count)) \
  CALL(OpenClResult, clGetPlatformInfo, \
       (OpenClPlatform platform, uint32_t fact, size_t room, void* value, size_t* bytes)) \
  CALL(OpenClResult, clGetDeviceIDs, \
       (OpenClPlatform platform, OpenClFlags types, uint32_t room, OpenClDeviceHandle* devices, \
       uint32_t* count)) \
  CALL(OpenClResult, clGetDeviceInfo, \
       (OpenClDeviceHandle device, uint32_t fact, size_t room, void* value, size_t* bytes)) \
  CALL(OpenClContextHandle, clCreateContext, \
       (const intptr_t* properties, uint32_t device_count, const OpenClDeviceHandle* devices, \
       OpenClContextCallback callback, void* data, OpenClResult* result)) \
  CALL(OpenClResult, clReleaseContext, (OpenClContextHandle context)) \
  CALL(OpenClQueueHandle, clCreateCommandQueue, \
       (OpenClContextHandle context, OpenClDeviceHandle device, OpenClFlags properties, \
       OpenClResult* result)) \
  CALL(OpenClResult, clReleaseCommandQueue, (OpenClQueueHandle queue)) \
  CALL(OpenClBuffer, clCreateBuffer, \
       (OpenClContextHandle context, OpenClFlags flags, size_t bytes, void* contents, \
       OpenClResult* result)) \
  CALL(OpenClResult, clReleaseMemObject, (OpenClBuffer buffer)) \
  CALL(OpenClProgramHandle, clCreateProgramWithSource, \
       (OpenClContextHandle context, uint32_t count, const char** texts, const size_t* sizes, \
       OpenClResult* result)) \
  CALL(OpenClProgramHandle, clCreateProgramWithBinary, \
       (OpenClContextHandle context, uint32_t count, const OpenClDeviceHandle* devices, \
       const size_t* sizes, const unsigned char** binaries, OpenClResult* results, \
       OpenClResult* result)) \
  CALL(OpenClResult, clBuildProgram, \
       (OpenClProgramHandle program, uint32_t device_count, const OpenClDeviceHandle* devices, \
       const char* options, OpenClProgramCallback callback, void* data)) \
  CALL(OpenClResult, clGetProgramInfo, \
       (OpenClProgramHandle program, uint32_t fact, size_t room, void* value, size_t* bytes)) \
  CALL(OpenClResult, clGetProgramBuildInfo, \
       (OpenClProgramHandle program, OpenClDeviceHandle device, uint32_t fact, size_t room, \
       void* value, size_t* bytes)) \
  CALL(OpenClResult, clReleaseProgram, (OpenClProgramHandle program)) \
  CALL(OpenClKernelHandle, clCreateKernel, \
       (OpenClProgramHandle program, const char* name, OpenClResult* result)) \
  CALL(OpenClResult, clReleaseKernel, (OpenClKernelHandle kernel)) \
  CALL(OpenClResult, clSetKernelArg, \
       (OpenClKernelHandle kernel, uint32_t index, size_t bytes, const void* value)) \
  CALL(OpenClResult, clGetKernelInfo, \
       (OpenClKernelHandle kernel, uint32_t fact, size_t room, void* value, size_t* bytes)) \
  CALL(OpenClResult, clGetKernelWorkGroupInfo, \
       (OpenClKernelHandle kernel, OpenClDeviceHandle device, uint32_t fact, size_t room, \
       void* value, size_t* bytes)) \
  CALL(OpenClResult, clEnqueueReadBuffer, \
       (OpenClQueueHandle queue, OpenClBuffer buffer, uint32_t waits, size_t offset, size_t bytes, \
       void* to, uint32_t event_count, const OpenClEventHandle* events, \
       OpenClEventHandle* event)) \
  CALL(OpenClResult, clEnqueueWriteBuffer, \
       (OpenClQueueHandle queue, OpenClBuffer buffer, uint32_t waits, size_t offset, size_t bytes, \
       const void* from, uint32_t event_count, const OpenClEventHandle* events, \
       OpenClEventHandle* event)) \
  CALL(OpenClResult, clEnqueueCopyBuffer, \
       (OpenClQueueHandle queue, OpenClBuffer from, OpenClBuffer to, size_t from_offset, \
       size_t to_offset, size_t bytes, uint32_t event_count, const OpenClEventHandle* events, \
       OpenClEventHandle* event)) \
  CALL(OpenClResult, clEnqueueFillBuffer, \
       (OpenClQueueHandle queue, OpenClBuffer buffer, const void* pattern, size_t pattern_bytes, \
       size_t offset, size_t bytes, uint32_t event_count, const OpenClEventHandle* events, \
       OpenClEventHandle* event)) \
  CALL(OpenClResult, clEnqueueNDRangeKernel, \
       (OpenClQueueHandle queue, OpenClKernelHandle kernel, uint32_t rank, const size_t* begin, \
       const size_t* threads, const size_t* block, uint32_t event_count, \
       const OpenClEventHandle* events, OpenClEventHandle* event)) \
  CALL(OpenClResult, clFinish, (OpenClQueueHandle queue)) \
  CALL(OpenClResult, clGetEventInfo, \
       (OpenClEventHandle event, uint32_t fact, size_t room, void* value, size_t* bytes)) \
  CALL(OpenClResult, clGetEventProfilingInfo, \
       (OpenClEventHandle event, uint32_t fact, size_t room, void* value, size_t* bytes)) \
  CALL(OpenClResult, clReleaseEvent, (OpenClEventHandle event))
// clang-format on

// The driver's functions, each under its symbol. A function that makes an object writes its result
// through its last parameter; the others return it.
struct OpenClDriver {
#define TCC_OPENCL_FIELD(result, name, parameters) result(*name) parameters = nullptr;
  TCC_OPENCL_CALLS(TCC_OPENCL_FIELD)
#undef TCC_OPENCL_FIELD
};

// The results that tcc tells apart.
enum OpenClErrorCode : OpenClResult {
  kOpenClSuccess = 0,
  kOpenClDeviceNotFound = -1,
  kOpenClDeviceNotAvailable = -2,
  kOpenClCompilerNotAvailable = -3,
  kOpenClAllocationFailed = -4,
  kOpenClOutOfResources = -5,
  kOpenClOutOfHostMemory = -6,
  kOpenClBuildFailed = -11,
  kOpenClInvalidDevice = -33,
  kOpenClInvalidBinary = -42,
  kOpenClInvalidExecutable = -45,
  kOpenClInvalidKernelName = -46,
  kOpenClInvalidArgumentIndex = -49,
  kOpenClInvalidArgumentValue = -50,
  kOpenClInvalidArgumentSize = -51,
  kOpenClInvalidKernelArguments = -52,
  kOpenClInvalidBufferSize = -61,
  kOpenClPlatformNotFound = -1001,  // of the loader: no driver is installed
};

}  // namespace tcc
