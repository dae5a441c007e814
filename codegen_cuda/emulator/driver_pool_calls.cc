#include "codegen_cuda/emulator/driver_calls.h"
#include "codegen_cuda/emulator/driver_machine.h"

// Memory pools. They keep nothing: freed memory returns to the device at once, because a stream has
// no pending work.
namespace tcc::emulator::calls {
namespace {

// Refuses a stream that is captured: the graph would own the memory.
CudaResult RefuseCaptured(CudaStreamHandle handle) {
  Stream* stream = nullptr;
  if (CudaResult error = FindStream(handle, &stream); error != kCudaSuccess) return error;
  if (stream->capture == nullptr) return kCudaSuccess;
  stream->invalidated = true;
  return Fail(kCudaCaptureUnsupported, "memory of graphs is not emulated");
}

CudaResult CheckPool(CudaPoolHandle pool) {
  if (TheMachine().pools.Find(pool) != nullptr) return kCudaSuccess;
  return Fail(kCudaInvalidValue, "no memory pool");
}

}  // namespace

CudaResult cuMemPoolCreate(CudaPoolHandle* pool, const CudaPoolProperties* properties) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  const CudaPoolProperties expected{.ordinal = properties->ordinal};
  const bool known =
      properties->ordinal >= 0 && properties->ordinal < static_cast<int>(machine.contexts.size());
  if (!known || properties->allocation_kind != expected.allocation_kind ||
      properties->handle_kinds != expected.handle_kinds ||
      properties->place_kind != expected.place_kind) {
    return Fail(kCudaInvalidValue, "a pool that is not emulated");
  }
  Context* context = machine.contexts[static_cast<size_t>(properties->ordinal)].get();
  *pool = reinterpret_cast<CudaPoolHandle>(machine.pools.Make(context));
  return kCudaSuccess;
}

CudaResult cuMemPoolDestroy(CudaPoolHandle pool) {
  std::lock_guard lock(TheMachine().mutex);
  if (TheMachine().pools.Remove(pool)) return kCudaSuccess;
  return Fail(kCudaInvalidValue, "no memory pool");
}

CudaResult cuMemPoolSetAttribute(CudaPoolHandle pool, int attribute, void*) {
  std::lock_guard lock(TheMachine().mutex);
  if (CudaResult error = CheckPool(pool); error != kCudaSuccess) return error;
  if (attribute == kCudaPoolKeptBytes) return kCudaSuccess;
  return Fail(kCudaInvalidValue, "an attribute that is not emulated");
}

CudaResult cuMemPoolTrimTo(CudaPoolHandle pool, size_t) {
  std::lock_guard lock(TheMachine().mutex);
  return CheckPool(pool);
}

CudaResult cuMemAllocFromPoolAsync(CudaAddress* memory, size_t bytes, CudaPoolHandle pool,
                                   CudaStreamHandle stream) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  if (CudaResult error = RefuseCaptured(stream); error != kCudaSuccess) return error;
  if (CudaResult error = CheckPool(pool); error != kCudaSuccess) return error;
  return AllocateMemory(*machine.pools.Find(pool)->context, memory, bytes);
}

CudaResult cuMemFreeAsync(CudaAddress memory, CudaStreamHandle stream) {
  std::lock_guard lock(TheMachine().mutex);
  const CudaResult refused = RefuseCaptured(stream);
  const CudaResult freed = FreeMemory(memory);
  return refused != kCudaSuccess ? refused : freed;
}

}  // namespace tcc::emulator::calls
