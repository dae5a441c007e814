#include "runtime/cuda/cuda_context.h"

#include <algorithm>

namespace tcc {

StatusOr<std::shared_ptr<const CudaContext>> CudaContext::Open(const CudaDriver& driver,
                                                               int ordinal) {
  TCC_ASSIGN_OR_RETURN(CudaDeviceInfo device, FindCudaDevice(driver, ordinal));
  CudaContextHandle handle = nullptr;
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "opening " + Describe(device), cuDevicePrimaryCtxRetain,
                                    &handle, device.handle));
  return std::shared_ptr<const CudaContext>(new CudaContext(driver, std::move(device), handle));
}

CudaContext::~CudaContext() {
  driver_.cuDevicePrimaryCtxRelease_v2(device_.handle);
}

CudaScope::CudaScope(const CudaContext& context)
    : context_(context),
      status_(TCC_CUDA_CALL(context.driver(), "using " + Describe(context.device()),
                            cuCtxPushCurrent_v2, context.handle())) {}

CudaScope::~CudaScope() {
  CudaContextHandle popped = nullptr;
  if (status_.ok()) context_.driver().cuCtxPopCurrent_v2(&popped);
}

Status NoCudaMemory(const CudaContext& context, CudaResult result, std::string_view call,
                    int64_t bytes, std::string_view what) {
  const CudaDriver& driver = context.driver();
  size_t free = 0, total = 0;
  std::string room;
  if (result == kCudaOutOfMemory && driver.cuMemGetInfo_v2(&free, &total) == kCudaSuccess) {
    room = fmt::format("; {} of its {} bytes are free", free, total);
  }
  return CudaStatus(driver, result, call,
                    fmt::format("no memory on {} for {}, which takes {} bytes{}",
                                Describe(context.device()), what, bytes, room));
}

StatusOr<CudaMemory> CudaMemory::Allocate(const std::shared_ptr<const CudaContext>& context,
                                          int64_t bytes, std::string_view what) {
  const CudaDriver& driver = context->driver();
  CudaAddress address = 0;
  // The driver refuses 0 bytes.
  const size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  const CudaResult result = driver.cuMemAlloc_v2(&address, size);
  if (result != kCudaSuccess) return NoCudaMemory(*context, result, "cuMemAlloc_v2", bytes, what);
  return CudaMemory(context, address, bytes);
}

}  // namespace tcc
