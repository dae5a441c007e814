#include "support/cuda/cuda_api.h"

#include <catch2/catch.hpp>

#include "tests/runtime/passed_alike.h"

#if __has_include(<cuda.h>)
#include <cuda.h>

// Newer headers say the second version of this one, which is alike.
#ifdef cuEventElapsedTime
#undef cuEventElapsedTime
extern "C" decltype(cuEventElapsedTime_v2) cuEventElapsedTime;
#endif

// Where a toolkit is, its declarations are held against ours.
namespace {

using tcc::test::Alike;
using tcc::test::Same;

#define TCC_HOLD_AGAINST_HEADER(name, parameters, names) \
  static_assert(Alike<decltype(tcc::CudaDriver::name), decltype(&::name)>::value, #name);
TCC_CUDA_CALLS(TCC_HOLD_AGAINST_HEADER)
#undef TCC_HOLD_AGAINST_HEADER

static_assert(Same(tcc::kCudaClockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
static_assert(Same(tcc::kCudaMemoryClockKhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
static_assert(Same(tcc::kCudaMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
static_assert(Same(tcc::kCudaMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(Same(tcc::kCudaL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(Same(tcc::kCudaArchMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(Same(tcc::kCudaArchMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(Same(tcc::kCudaSharedBytesOptIn,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(Same(tcc::kCudaMostThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(Same(tcc::kCudaMostDynamicSharedBytes,
                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
static_assert(Same(tcc::kCudaErrorLog, CU_JIT_ERROR_LOG_BUFFER));
static_assert(Same(tcc::kCudaErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
static_assert(Same(tcc::kCudaCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
static_assert(Same(tcc::kCudaStreamNonBlocking, CU_STREAM_NON_BLOCKING));
static_assert(Same(tcc::kCudaMemoryPools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));
static_assert(Same(tcc::kCudaPoolKeptBytes, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
static_assert(Same(tcc::CudaPoolProperties{}.allocation_kind, CU_MEM_ALLOCATION_TYPE_PINNED));
static_assert(Same(tcc::CudaPoolProperties{}.place_kind, CU_MEM_LOCATION_TYPE_DEVICE));
static_assert(sizeof(tcc::CudaPoolProperties) == sizeof(CUmemPoolProps));
static_assert(Same(tcc::kCudaProgrammaticSerialization,
                   CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
static_assert(sizeof(tcc::CudaLaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(tcc::CudaLaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(tcc::CudaLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(tcc::CudaLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(sizeof(tcc::CudaTensorMap) == sizeof(CUtensorMap));
static_assert(Same(tcc::kCudaMapU8, CU_TENSOR_MAP_DATA_TYPE_UINT8));
static_assert(Same(tcc::kCudaMapU16, CU_TENSOR_MAP_DATA_TYPE_UINT16));
static_assert(Same(tcc::kCudaMapF16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
static_assert(Same(tcc::kCudaMapF32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
static_assert(Same(tcc::kCudaMapBF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
static_assert(Same(tcc::kCudaMapTf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32));
static_assert(Same(tcc::kCudaMapNoSwizzle, CU_TENSOR_MAP_SWIZZLE_NONE));
static_assert(Same(tcc::kCudaMapSwizzle32, CU_TENSOR_MAP_SWIZZLE_32B));
static_assert(Same(tcc::kCudaMapSwizzle64, CU_TENSOR_MAP_SWIZZLE_64B));
static_assert(Same(tcc::kCudaMapSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B));
static_assert(Same(tcc::kCudaMapNoInterleave, CU_TENSOR_MAP_INTERLEAVE_NONE));
static_assert(Same(tcc::kCudaMapL2Line, CU_TENSOR_MAP_L2_PROMOTION_L2_128B));
static_assert(Same(tcc::kCudaMapZeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
static_assert(Same(tcc::kCudaNotCaptured, CU_STREAM_CAPTURE_STATUS_NONE));
static_assert(Same(tcc::kCudaCaptured, CU_STREAM_CAPTURE_STATUS_ACTIVE));
static_assert(Same(tcc::kCudaCaptureIsInvalid, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
static_assert(Same(tcc::kCudaPointerOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL));
static_assert(Same(tcc::kCudaOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(Same(tcc::kCudaNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
static_assert(Same(tcc::kCudaUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
static_assert(Same(tcc::kCudaNotFound, CUDA_ERROR_NOT_FOUND));
static_assert(Same(tcc::kCudaIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS));
static_assert(Same(tcc::kCudaLaunchFailed, CUDA_ERROR_LAUNCH_FAILED));
static_assert(Same(tcc::kCudaSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
static_assert(Same(tcc::kCudaCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
static_assert(Same(tcc::kCudaCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));

}  // namespace

TEST_CASE("our declarations of the CUDA driver are those of its header", "[runtime][cuda_api]") {
  SUCCEED("held when this file was compiled");
}
#else
TEST_CASE("our declarations of the CUDA driver are those of its header", "[runtime][cuda_api]") {
  WARN("no cuda.h on this machine: nothing to hold them against");
}
#endif
