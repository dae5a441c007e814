#include <bit>
#include <cstring>
#include <iterator>

#include "codegen_cuda/emulator/driver_calls.h"
#include "codegen_cuda/emulator/driver_machine.h"

// Memory and copies.
namespace tcc::emulator {

CudaResult AllocateMemory(Context& context, CudaAddress* memory, size_t bytes) {
  Machine& machine = TheMachine();
  if (bytes == 0) return Fail(kCudaInvalidValue, "0 bytes");
  if (bytes > static_cast<size_t>(kDeviceMemoryBytes - context.memory_bytes)) {
    return Fail(kCudaOutOfMemory, "out of memory");
  }
  StatusOr<void*> made = machine.memory.Allocate(static_cast<int64_t>(bytes));
  if (!made.ok()) return Fail(kCudaOutOfMemory, Message(made.status()));
  *memory = std::bit_cast<CudaAddress>(*made);
  machine.allocations[*memory] = {&context, static_cast<int64_t>(bytes)};
  context.memory_bytes += static_cast<int64_t>(bytes);
  return kCudaSuccess;
}

CudaResult FreeMemory(CudaAddress memory) {
  Machine& machine = TheMachine();
  Context* context = nullptr;
  const CudaResult broken = CurrentContext(&context);
  auto found = machine.allocations.find(memory);
  if (context == nullptr || found == machine.allocations.end()) {
    return Fail(kCudaInvalidValue, "freed what is no memory of the device");
  }
  machine.begun.Forget(memory, found->second.bytes);
  found->second.context->memory_bytes -= found->second.bytes;
  machine.allocations.erase(found);
  const Status intact = machine.memory.Free(std::bit_cast<void*>(memory));
  if (!intact.ok()) return Fail(kCudaIllegalAddress, Message(intact));
  return broken;
}

namespace calls {
namespace {

std::byte* Place(CudaAddress address) {
  return std::bit_cast<std::byte*>(address);
}

// Checks that all of the bytes lie in one buffer of the device.
CudaResult CheckRange(CudaAddress address, size_t bytes) {
  const int64_t there = TheMachine().memory.BytesFrom(Place(address));
  if (there >= 0 && static_cast<size_t>(there) >= bytes) return kCudaSuccess;
  return Fail(kCudaInvalidValue, fmt::format("a copy of {} bytes from or to device memory of which "
                                             "{} bytes follow",
                                             bytes, there));
}

CudaResult ToDevice(CudaAddress to, const void* from, size_t bytes) {
  if (CudaResult error = CheckRange(to, bytes); error != kCudaSuccess) return error;
  std::memcpy(Place(to), from, bytes);
  return kCudaSuccess;
}

}  // namespace

CudaResult cuMemAlloc_v2(CudaAddress* memory, size_t bytes) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  if (CudaResult error = RefuseInCapture(); error != kCudaSuccess) return error;
  return AllocateMemory(*context, memory, bytes);
}

CudaResult cuMemFree_v2(CudaAddress memory) {
  std::lock_guard lock(TheMachine().mutex);
  return FreeMemory(memory);
}

// Answers for device memory only.
CudaResult cuPointerGetAttribute(void* value, int attribute, CudaAddress memory) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  if (attribute != kCudaPointerOrdinal) {
    return Fail(kCudaInvalidValue, "an attribute that is not emulated");
  }
  auto after = machine.allocations.upper_bound(memory);
  if (after == machine.allocations.begin()) return Fail(kCudaInvalidValue, "no memory of a device");
  const auto& [begin, allocation] = *std::prev(after);
  if (memory - begin >= static_cast<CudaAddress>(allocation.bytes)) {
    return Fail(kCudaInvalidValue, "no memory of a device");
  }
  *static_cast<int*>(value) = allocation.context->device;
  return kCudaSuccess;
}

CudaResult cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  if (CudaResult error = RefuseInCapture(); error != kCudaSuccess) return error;
  if (bytes == 0) return Fail(kCudaInvalidValue, "0 bytes");
  auto made = std::make_unique<std::byte[]>(bytes);
  *memory = made.get();
  machine.host_memory.emplace(*memory, std::move(made));
  return kCudaSuccess;
}

CudaResult cuMemFreeHost(void* memory) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  if (machine.host_memory.erase(memory) > 0) return kCudaSuccess;
  return Fail(kCudaInvalidValue, "freed what is no memory of the driver");
}

CudaResult cuMemcpyHtoD_v2(CudaAddress to, const void* from, size_t bytes) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  if (CudaResult error = RefuseInCapture(); error != kCudaSuccess) return error;
  return ToDevice(to, from, bytes);
}

CudaResult cuMemcpyHtoDAsync_v2(CudaAddress to, const void* from, size_t bytes,
                                CudaStreamHandle stream) {
  return Enqueue(stream, [=](Context&) { return ToDevice(to, from, bytes); });
}

CudaResult cuMemcpyDtoHAsync_v2(void* to, CudaAddress from, size_t bytes, CudaStreamHandle stream) {
  return Enqueue(stream, [=](Context&) -> CudaResult {
    if (CudaResult error = CheckRange(from, bytes); error != kCudaSuccess) return error;
    std::memcpy(to, Place(from), bytes);
    return kCudaSuccess;
  });
}

// Copies within device memory. The real driver leaves overlapping copies undefined; here they fail.
CudaResult cuMemcpyDtoDAsync_v2(CudaAddress to, CudaAddress from, size_t bytes,
                                CudaStreamHandle stream) {
  if (to < from + bytes && from < to + bytes) return Fail(kCudaInvalidValue, "a copy onto itself");
  return Enqueue(stream, [=](Context&) -> CudaResult {
    if (CudaResult error = CheckRange(from, bytes); error != kCudaSuccess) return error;
    {
      std::lock_guard lock(TheMachine().mutex);
      TheMachine().begun.Begin(to, static_cast<int64_t>(bytes));
    }
    return ToDevice(to, Place(from), bytes);
  });
}

CudaResult cuMemsetD8Async(CudaAddress memory, unsigned char value, size_t bytes,
                           CudaStreamHandle stream) {
  return Enqueue(stream, [=](Context&) -> CudaResult {
    if (CudaResult error = CheckRange(memory, bytes); error != kCudaSuccess) return error;
    std::memset(Place(memory), value, bytes);
    return kCudaSuccess;
  });
}

}  // namespace calls
}  // namespace tcc::emulator
