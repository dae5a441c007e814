#include "runtime/cuda/cuda_caller.h"

#include <string>

namespace tcc {
namespace {

std::string DescribeOrdinal(const CudaDriver& driver, int ordinal) {
  StatusOr<CudaDeviceInfo> device = FindCudaDevice(driver, ordinal);
  return device.ok() ? Describe(*device) : fmt::format("device {}", ordinal);
}

// Handles that the driver does not know are the caller's mistake.
Status RefuseHandle(const CudaDriver& driver, CudaResult result, std::string_view call,
                    const std::string& what) {
  const Status status = CudaStatus(driver, result, call, what);
  const bool unknown =
      result == kCudaInvalidValue || result == kCudaInvalidHandle || result == kCudaInvalidContext;
  return unknown ? InvalidInput("{}", Message(status)) : status;
}

// A context's device is a question to the current one.
StatusOr<CudaDeviceHandle> DeviceOf(const CudaDriver& driver, CudaContextHandle handle) {
  constexpr std::string_view kWhat = "asking for a stream's device";
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kWhat, cuCtxPushCurrent_v2, handle));
  CudaDeviceHandle device = 0;
  const Status asked = TCC_CUDA_CALL(driver, kWhat, cuCtxGetDevice, &device);
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, kWhat, cuCtxPopCurrent_v2, &handle));
  TCC_RETURN_IF_ERROR(asked);
  return device;
}

}  // namespace

Status CheckCallersStream(const CudaContext& context, CudaStreamHandle stream) {
  CudaScope scope(context);
  TCC_RETURN_IF_ERROR(scope.status());
  const CudaDriver& driver = context.driver();
  CudaContextHandle owner = nullptr;
  if (CudaResult result = driver.cuStreamGetCtx(stream, &owner); result != kCudaSuccess) {
    return RefuseHandle(driver, result, "cuStreamGetCtx",
                        "expected a stream of " + Describe(context.device()));
  }
  if (owner == context.handle()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(CudaDeviceHandle device, DeviceOf(driver, owner));
  if (device == context.device().handle) return OkStatus();
  // Handles of devices are their numbers.
  return InvalidInput("the stream is of {}; expected one of {}", DescribeOrdinal(driver, device),
                      Describe(context.device()));
}

Status CheckNotCaptured(const CudaContext& context, CudaStreamHandle stream) {
  CudaScope scope(context);
  TCC_RETURN_IF_ERROR(scope.status());
  const CudaDriver& driver = context.driver();
  int status = kCudaNotCaptured;
  const CudaResult result = driver.cuStreamIsCapturing(stream, &status);
  if (result == kCudaCaptureImplicit) {
    return InvalidInput(
        "the stream is the default one, which waits for one that is being captured; expected one "
        "that does not");
  }
  TCC_RETURN_IF_ERROR(
      CudaStatus(driver, result, "cuStreamIsCapturing", "asking whether a stream is captured"));
  if (status == kCudaNotCaptured) return OkStatus();
  return InvalidInput(
      "the stream is being captured; expected one that is not: a graph of the caller's would use "
      "memory that the executor may replace");
}

Status CheckCallersMemory(const CudaContext& context, const void* memory, std::string_view what) {
  CudaScope scope(context);
  TCC_RETURN_IF_ERROR(scope.status());
  const CudaDriver& driver = context.driver();
  int ordinal = 0;
  const CudaResult result =
      driver.cuPointerGetAttribute(&ordinal, kCudaPointerOrdinal, AddressOf(memory));
  if (result != kCudaSuccess) {
    return RefuseHandle(driver, result, "cuPointerGetAttribute",
                        fmt::format("'{}': expected memory of {}, got {}", what,
                                    Describe(context.device()), memory));
  }
  if (ordinal == context.device().ordinal) return OkStatus();
  return InvalidInput("'{}': expected memory of {}, got memory of {}", what,
                      Describe(context.device()), DescribeOrdinal(driver, ordinal));
}

}  // namespace tcc
