#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codegen_cuda/emulator/driver.h"
#include "codegen_cuda/emulator/driver_calls.h"
#include "codegen_cuda/emulator/driver_machine.h"

// Starting, devices and their contexts.
namespace tcc::emulator::calls {
namespace {

// The attributes that the emulated devices report.
constexpr int kDriverVersion = 13000;

constexpr int kMultiprocessorCount = 2;
constexpr int kClockKhz = 1'000'000;
constexpr int kMemoryClockKhz = 1'000'000, kMemoryBusBits = 64;
constexpr int kL2CacheBytes = 4 << 20;

Context* Device(CudaDeviceHandle device) {
  Machine& machine = TheMachine();
  const bool known = device >= 0 && static_cast<size_t>(device) < machine.contexts.size();
  return known ? machine.contexts[static_cast<size_t>(device)].get() : nullptr;
}

// Copies a text and a null character, as much as fits.
void CopyText(const std::string& text, char* to, int length) {
  const size_t bytes = std::min(text.size(), static_cast<size_t>(length) - 1);
  std::memcpy(to, text.data(), bytes);
  to[bytes] = '\0';
}

}  // namespace

CudaResult cuInit(unsigned) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  if (machine.started) return kCudaSuccess;
  const StatusOr<std::vector<Target>> targets = EmulatedTargets();
  if (!targets.ok()) return Fail(kCudaNoDevice, Message(targets.status()));
  machine.started = true;
  for (const Target& target : *targets) {
    auto context = std::make_unique<Context>();
    context->target = target;
    context->device = static_cast<int>(machine.contexts.size());
    machine.contexts.push_back(std::move(context));
  }
  return kCudaSuccess;
}

CudaResult cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return kCudaSuccess;
}

CudaResult cuDeviceGetCount(int* count) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  if (!machine.started) return Fail(kCudaNotInitialized, "cuInit was not called");
  *count = static_cast<int>(machine.contexts.size());
  return kCudaSuccess;
}

CudaResult cuDeviceGet(CudaDeviceHandle* device, int ordinal) {
  std::lock_guard lock(TheMachine().mutex);
  if (Device(ordinal) == nullptr) return Fail(kCudaInvalidDevice, "there is no such device");
  *device = ordinal;
  return kCudaSuccess;
}

CudaResult cuDeviceGetName(char* name, int length, CudaDeviceHandle device) {
  std::lock_guard lock(TheMachine().mutex);
  const Context* context = Device(device);
  if (context == nullptr || length < 1) return Fail(kCudaInvalidValue, "");
  CopyText("emulated " + context->target.name, name, length);
  return kCudaSuccess;
}

CudaResult cuDeviceGetPCIBusId(char* id, int length, CudaDeviceHandle device) {
  std::lock_guard lock(TheMachine().mutex);
  if (Device(device) == nullptr || length < 1) return Fail(kCudaInvalidValue, "");
  CopyText(fmt::format("0000:{:02x}:00.0", device), id, length);
  return kCudaSuccess;
}

CudaResult cuDeviceGetAttribute(int* value, int attribute, CudaDeviceHandle device) {
  std::lock_guard lock(TheMachine().mutex);
  const Context* context = Device(device);
  if (context == nullptr) return Fail(kCudaInvalidDevice, "there is no such device");
  switch (attribute) {
    case kCudaClockKhz:
      *value = kClockKhz;
      return kCudaSuccess;
    case kCudaMultiprocessors:
      *value = kMultiprocessorCount;
      return kCudaSuccess;
    case kCudaL2Bytes:
      *value = kL2CacheBytes;
      return kCudaSuccess;
    case kCudaMemoryClockKhz:
      *value = kMemoryClockKhz;
      return kCudaSuccess;
    case kCudaMemoryBusBits:
      *value = kMemoryBusBits;
      return kCudaSuccess;
    case kCudaArchMajor:
      *value = context->target.sm / 10;
      return kCudaSuccess;
    case kCudaArchMinor:
      *value = context->target.sm % 10;
      return kCudaSuccess;
    case kCudaSharedBytesOptIn:
      *value = static_cast<int>(context->target.shared_bytes);
      return kCudaSuccess;
    case kCudaMemoryPools:
      *value = 1;
      return kCudaSuccess;
    default:
      return Fail(kCudaInvalidValue, "an attribute that is not emulated");
  }
}

CudaResult cuDeviceTotalMem_v2(size_t* bytes, CudaDeviceHandle) {
  *bytes = kDeviceMemoryBytes;
  return kCudaSuccess;
}

CudaResult cuMemGetInfo_v2(size_t* free, size_t* total) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  *free = static_cast<size_t>(kDeviceMemoryBytes - context->memory_bytes);
  *total = kDeviceMemoryBytes;
  return kCudaSuccess;
}

CudaResult cuDevicePrimaryCtxRetain(CudaContextHandle* handle, CudaDeviceHandle device) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = Device(device);
  if (context == nullptr) return Fail(kCudaInvalidDevice, "there is no such device");
  ++context->retained;
  *handle = reinterpret_cast<CudaContextHandle>(context);
  return kCudaSuccess;
}

CudaResult cuDevicePrimaryCtxRelease_v2(CudaDeviceHandle device) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = Device(device);
  if (context == nullptr || context->retained == 0) return Fail(kCudaInvalidContext, "");
  if (--context->retained == 0) EndContext(*context);
  return kCudaSuccess;
}

CudaResult cuCtxPushCurrent_v2(CudaContextHandle handle) {
  std::lock_guard lock(TheMachine().mutex);
  auto* context = reinterpret_cast<Context*>(handle);
  if (context == nullptr || Device(context->device) != context || context->retained == 0) {
    return Fail(kCudaInvalidContext, "no context that is retained");
  }
  ThisThread().contexts.push_back(context);
  return kCudaSuccess;
}

CudaResult cuCtxPopCurrent_v2(CudaContextHandle* handle) {
  std::vector<Context*>& contexts = ThisThread().contexts;
  if (contexts.empty()) return Fail(kCudaInvalidContext, "the thread has no context");
  if (handle != nullptr) *handle = reinterpret_cast<CudaContextHandle>(contexts.back());
  contexts.pop_back();
  return kCudaSuccess;
}

CudaResult cuCtxGetDevice(CudaDeviceHandle* device) {
  std::lock_guard lock(TheMachine().mutex);
  Context* context = nullptr;
  if (CudaResult error = CurrentContext(&context); error != kCudaSuccess) return error;
  *device = context->device;
  return kCudaSuccess;
}

}  // namespace tcc::emulator::calls
