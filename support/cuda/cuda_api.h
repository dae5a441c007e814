#pragma once

#include <cstddef>
#include <cstdint>

// The part of the CUDA driver's interface (libcuda, 11.4 and newer) that tcc uses, declared here so
// that no toolkit is needed to build; tests hold it against the real header where there is one.
namespace tcc {

using CudaResult = int;
using CudaDeviceHandle = int;
using CudaAddress = unsigned long long;
using CudaContextHandle = struct CudaContextObject*;
using CudaModuleHandle = struct CudaModuleObject*;
using CudaFunctionHandle = struct CudaFunctionObject*;
using CudaStreamHandle = struct CudaStreamObject*;
using CudaEventHandle = struct CudaEventObject*;
using CudaPoolHandle = struct CudaPoolObject*;
using CudaGraphHandle = struct CudaGraphObject*;
using CudaGraphExecHandle = struct CudaGraphExecObject*;

// Values of the enumerations that are passed as int.
enum CudaDeviceAttribute : int {
  kCudaClockKhz = 13,
  kCudaMultiprocessors = 16,
  kCudaMemoryClockKhz = 36,
  kCudaMemoryBusBits = 37,
  kCudaL2Bytes = 38,
  kCudaArchMajor = 75,
  kCudaArchMinor = 76,
  kCudaSharedBytesOptIn = 97,  // per block that opts in to more than the default
  kCudaMemoryPools = 115,      // 1 if the device has them
};
enum CudaFunctionAttribute : int { kCudaMostThreads = 0, kCudaMostDynamicSharedBytes = 8 };
enum CudaJitOption : int { kCudaErrorLog = 5, kCudaErrorLogBytes = 6 };
enum CudaCaptureMode : int { kCudaCaptureThreadLocal = 1 };
enum CudaCaptureStatus : int {
  kCudaNotCaptured = 0,
  kCudaCaptured = 1,
  kCudaCaptureIsInvalid = 2,  // until the capture is ended
};
enum CudaPointerAttribute : int { kCudaPointerOrdinal = 9 };
enum CudaPoolAttribute : int { kCudaPoolKeptBytes = 4 };  // its release threshold
inline constexpr unsigned kCudaStreamNonBlocking = 1;
inline constexpr std::uintptr_t kCudaDefaultStream = 1;  // a handle; launches treat it like null

// The properties of a memory pool on device `ordinal`, for this process alone; unnamed fields are
// zero.
struct CudaPoolProperties {
  int allocation_kind = 1;  // pinned
  int handle_kinds = 0;     // none
  int place_kind = 1;       // a device
  int ordinal = 0;
  void* security = nullptr;
  unsigned char reserved[64] = {};
};

// An attribute of a launch whose value is an int. The driver's values have 64 bytes.
struct alignas(8) CudaLaunchAttribute {
  int id = 0;
  int gap = 0;
  int value = 0;
  unsigned char rest[60] = {};
};
enum CudaLaunchAttributeId : int {
  // 1: the launch may begin while the kernel before it in the stream ends, whose results its
  // threads wait for themselves (griddepcontrol.wait).
  kCudaProgrammaticSerialization = 6,
};
struct CudaLaunchConfig {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  CudaStreamHandle stream = nullptr;
  CudaLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// A tensor map in the driver's encoding, and the values that it is encoded from.
struct alignas(64) CudaTensorMap {
  std::uint64_t words[16] = {};
};
enum CudaMapType : int {
  kCudaMapU8 = 0,
  kCudaMapU16 = 1,
  kCudaMapF16 = 6,
  kCudaMapF32 = 7,
  kCudaMapBF16 = 9,
  kCudaMapTf32 = 11,
};
enum CudaMapSwizzle : int {
  kCudaMapNoSwizzle = 0,
  kCudaMapSwizzle32 = 1,
  kCudaMapSwizzle64 = 2,
  kCudaMapSwizzle128 = 3,
};
inline constexpr int kCudaMapNoInterleave = 0;  // the tensor is not one of blocks of channels
inline constexpr int kCudaMapL2Line = 2;        // what misses in L2 is fetched by 128 bytes
inline constexpr int kCudaMapZeros = 0;         // elements outside of the tensor are zeros

// Expands CALL(symbol in the library, parameters, their names) for each function; all of them
// return a CudaResult.
// clang-format off
#define TCC_CUDA_CALLS(CALL) \
  CALL(cuInit, (unsigned flags), (flags)) \
  CALL(cuDriverGetVersion, (int* version), (version)) \
  CALL(cuGetErrorName, (CudaResult error, const char** name), (error, name)) \
  CALL(cuGetErrorString, (CudaResult error, const char** text), (error, text)) \
  CALL(cuDeviceGetCount, (int* count), (count)) \
  CALL(cuDeviceGet, (CudaDeviceHandle* device, int ordinal), (device, ordinal)) \
  CALL(cuDeviceGetName, \
       (char* name, int length, CudaDeviceHandle device), \
       (name, length, device)) \
  CALL(cuDeviceGetPCIBusId, \
       (char* id, int length, CudaDeviceHandle device), \
       (id, length, device)) \
  CALL(cuDeviceGetAttribute, \
       (int* value, int attribute, CudaDeviceHandle device), \
       (value, attribute, device)) \
  CALL(cuDeviceTotalMem_v2, (size_t* bytes, CudaDeviceHandle device), (bytes, device)) \
  CALL(cuDevicePrimaryCtxRetain, \
       (CudaContextHandle* context, CudaDeviceHandle device), \
       (context, device)) \
  CALL(cuDevicePrimaryCtxRelease_v2, (CudaDeviceHandle device), (device)) \
  CALL(cuCtxPushCurrent_v2, (CudaContextHandle context), (context)) \
  CALL(cuCtxPopCurrent_v2, (CudaContextHandle* context), (context)) \
  CALL(cuCtxGetDevice, (CudaDeviceHandle* device), (device)) \
  CALL(cuModuleLoadDataEx, \
       (CudaModuleHandle* module, const void* image, unsigned option_count, int* options, \
       void** option_values), \
       (module, image, option_count, options, option_values)) \
  CALL(cuModuleUnload, (CudaModuleHandle module), (module)) \
  CALL(cuModuleGetFunction, \
       (CudaFunctionHandle* function, CudaModuleHandle module, const char* name), \
       (function, module, name)) \
  CALL(cuFuncGetAttribute, \
       (int* value, int attribute, CudaFunctionHandle function), \
       (value, attribute, function)) \
  CALL(cuFuncSetAttribute, \
       (CudaFunctionHandle function, int attribute, int value), \
       (function, attribute, value)) \
  CALL(cuMemGetInfo_v2, (size_t* free, size_t* total), (free, total)) \
  CALL(cuMemAlloc_v2, (CudaAddress* memory, size_t bytes), (memory, bytes)) \
  CALL(cuMemFree_v2, (CudaAddress memory), (memory)) \
  CALL(cuMemPoolCreate, \
       (CudaPoolHandle* pool, const CudaPoolProperties* properties), \
       (pool, properties)) \
  CALL(cuMemPoolDestroy, (CudaPoolHandle pool), (pool)) \
  CALL(cuMemPoolSetAttribute, \
       (CudaPoolHandle pool, int attribute, void* value), \
       (pool, attribute, value)) \
  CALL(cuMemPoolTrimTo, (CudaPoolHandle pool, size_t bytes_kept), (pool, bytes_kept)) \
  CALL(cuMemAllocFromPoolAsync, \
       (CudaAddress* memory, size_t bytes, CudaPoolHandle pool, CudaStreamHandle stream), \
       (memory, bytes, pool, stream)) \
  CALL(cuMemFreeAsync, (CudaAddress memory, CudaStreamHandle stream), (memory, stream)) \
  CALL(cuPointerGetAttribute, \
       (void* value, int attribute, CudaAddress memory), \
       (value, attribute, memory)) \
  CALL(cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags), (memory, bytes, flags)) \
  CALL(cuMemFreeHost, (void* memory), (memory)) \
  CALL(cuMemcpyHtoD_v2, (CudaAddress to, const void* from, size_t bytes), (to, from, bytes)) \
  CALL(cuMemcpyHtoDAsync_v2, \
       (CudaAddress to, const void* from, size_t bytes, CudaStreamHandle stream), \
       (to, from, bytes, stream)) \
  CALL(cuMemcpyDtoHAsync_v2, \
       (void* to, CudaAddress from, size_t bytes, CudaStreamHandle stream), \
       (to, from, bytes, stream)) \
  CALL(cuMemcpyDtoDAsync_v2, \
       (CudaAddress to, CudaAddress from, size_t bytes, CudaStreamHandle stream), \
       (to, from, bytes, stream)) \
  CALL(cuMemsetD8Async, \
       (CudaAddress memory, unsigned char value, size_t bytes, CudaStreamHandle stream), \
       (memory, value, bytes, stream)) \
  CALL(cuStreamCreate, (CudaStreamHandle* stream, unsigned flags), (stream, flags)) \
  CALL(cuStreamDestroy_v2, (CudaStreamHandle stream), (stream)) \
  CALL(cuStreamGetCtx, \
       (CudaStreamHandle stream, CudaContextHandle* context), \
       (stream, context)) \
  CALL(cuStreamSynchronize, (CudaStreamHandle stream), (stream)) \
  CALL(cuStreamIsCapturing, (CudaStreamHandle stream, int* status), (stream, status)) \
  CALL(cuStreamBeginCapture_v2, (CudaStreamHandle stream, int mode), (stream, mode)) \
  CALL(cuStreamEndCapture, (CudaStreamHandle stream, CudaGraphHandle* graph), (stream, graph)) \
  CALL(cuGraphInstantiateWithFlags, \
       (CudaGraphExecHandle* exec, CudaGraphHandle graph, unsigned long long flags), \
       (exec, graph, flags)) \
  CALL(cuGraphLaunch, (CudaGraphExecHandle exec, CudaStreamHandle stream), (exec, stream)) \
  CALL(cuGraphExecDestroy, (CudaGraphExecHandle exec), (exec)) \
  CALL(cuGraphDestroy, (CudaGraphHandle graph), (graph)) \
  CALL(cuEventCreate, (CudaEventHandle* event, unsigned flags), (event, flags)) \
  CALL(cuEventDestroy_v2, (CudaEventHandle event), (event)) \
  CALL(cuEventRecord, (CudaEventHandle event, CudaStreamHandle stream), (event, stream)) \
  CALL(cuEventSynchronize, (CudaEventHandle event), (event)) \
  CALL(cuEventQuery, (CudaEventHandle event), (event)) \
  CALL(cuEventElapsedTime, \
       (float* milliseconds, CudaEventHandle start, CudaEventHandle end), \
       (milliseconds, start, end)) \
  CALL(cuLaunchKernel, \
       (CudaFunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_shared_bytes, \
       CudaStreamHandle stream, void** arguments, void** extra), \
       (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared_bytes, \
       stream, arguments, extra)) \
  CALL(cuLaunchKernelEx, \
       (const CudaLaunchConfig* config, CudaFunctionHandle function, void** arguments, \
       void** extra), \
       (config, function, arguments, extra)) \
  CALL(cuTensorMapEncodeTiled, \
       (CudaTensorMap* map, int type, unsigned rank, void* address, \
       const std::uint64_t* extents, const std::uint64_t* byte_strides, const unsigned* box, \
       const unsigned* element_strides, int interleave, int swizzle, int l2_promotion, \
       int fill), \
       (map, type, rank, address, extents, byte_strides, box, element_strides, interleave, \
       swizzle, l2_promotion, fill))
// clang-format on

// The symbol that a driver exports if it accepts argument notes.
inline constexpr char kCudaTakesNotes[] = "tcc_takes_argument_notes";

// A note to the emulated driver about an argument of a launch, beside its value.
struct CudaArgumentNote {
  // kKnown: a shape, a tensor map, or an argument that an earlier launch of the same kernel has
  // already got.
  enum class Kind : uint8_t { kKnown, kBuffer, kWorkspace };
  int64_t bytes = 0;
  Kind kind = Kind::kKnown;
};

// The driver's functions, each under its symbol: libcuda's, or the emulator's. cuLaunchKernelEx is
// null in drivers before 11.8, cuTensorMapEncodeTiled in those before 12.0.
struct CudaDriver {
  // If true, the launches' `extra` is {an array of CudaArgumentNote, one per argument} or null;
  // libcuda accepts null only.
  bool takes_notes = false;
#define TCC_CUDA_FIELD(name, parameters, names) CudaResult(*name) parameters = nullptr;
  TCC_CUDA_CALLS(TCC_CUDA_FIELD)
#undef TCC_CUDA_FIELD
};

// The results that tcc tells apart; it prints others by the driver's name for them.
enum CudaErrorCode : CudaResult {
  kCudaSuccess = 0,
  kCudaInvalidValue = 1,
  kCudaOutOfMemory = 2,
  kCudaNotInitialized = 3,
  kCudaStubLibrary = 34,
  kCudaNewerDriverNeeded = 36,
  kCudaDeviceUnavailable = 46,
  kCudaNoDevice = 100,
  kCudaInvalidDevice = 101,
  kCudaInvalidImage = 200,
  kCudaInvalidContext = 201,
  kCudaNoBinaryForGpu = 209,
  kCudaInvalidPtx = 218,
  kCudaJitCompilerNotFound = 221,
  kCudaUnsupportedPtxVersion = 222,
  kCudaInvalidHandle = 400,
  kCudaNotFound = 500,
  kCudaNotReady = 600,
  kCudaIllegalAddress = 700,
  kCudaLaunchOutOfResources = 701,
  kCudaLaunchFailed = 719,
  kCudaSystemNotReady = 802,
  kCudaSystemDriverMismatch = 803,
  kCudaCompatNotSupported = 804,
  kCudaCaptureUnsupported = 900,
  kCudaCaptureInvalidated = 901,
  kCudaCaptureImplicit = 906,  // the default stream was used, which waits for a captured one
};

}  // namespace tcc
