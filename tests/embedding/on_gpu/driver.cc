#include "tests/embedding/on_gpu/driver.h"

#include <dlfcn.h>

#include <bit>
#include <cstdio>
#include <cstdlib>

namespace {

template <typename Function>
void Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  Expect(function == nullptr ? 1 : 0, name);
}

}  // namespace

void Expect(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s failed with %d\n", what, result);
  std::exit(1);
}

Driver::Driver() {
  const char* path = std::getenv("TCC_CUDA_DRIVER");
  void* library = dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW);
  Expect(library == nullptr ? 1 : 0, "opening the driver");
  Find(library, "cuInit", init);
  Find(library, "cuDeviceGet", device_get);
  Find(library, "cuDevicePrimaryCtxRetain", context_retain);
  Find(library, "cuDevicePrimaryCtxRelease_v2", context_release);
  Find(library, "cuCtxPushCurrent_v2", context_push);
  Find(library, "cuCtxPopCurrent_v2", context_pop);
  Find(library, "cuMemAlloc_v2", allocate);
  Find(library, "cuMemFree_v2", free);
  Find(library, "cuStreamCreate", stream_create);
  Find(library, "cuStreamDestroy_v2", stream_destroy);
  Find(library, "cuStreamSynchronize", stream_synchronize);
  Find(library, "cuMemcpyHtoDAsync_v2", upload);
  Find(library, "cuMemcpyDtoHAsync_v2", download);
  Expect(init(0), "cuInit");
}

Device::Device(const Driver& driver, int ordinal) : driver_(driver) {
  Expect(driver_.device_get(&device_, ordinal), "cuDeviceGet");
  Expect(driver_.context_retain(&context_, device_), "cuDevicePrimaryCtxRetain");
  Expect(driver_.context_push(context_), "cuCtxPushCurrent");
  Expect(driver_.stream_create(&stream_, 0), "cuStreamCreate");
}

Device::~Device() {
  for (unsigned long long memory : memory_) Expect(driver_.free(memory), "cuMemFree");
  Expect(driver_.stream_destroy(stream_), "cuStreamDestroy");
  Expect(driver_.context_pop(&context_), "cuCtxPopCurrent");
  Expect(driver_.context_release(device_), "cuDevicePrimaryCtxRelease");
}

void* Device::Allocate(std::size_t bytes) {
  Expect(driver_.context_push(context_), "cuCtxPushCurrent");
  Expect(driver_.allocate(&memory_.emplace_back(), bytes), "cuMemAlloc");
  Expect(driver_.context_pop(&context_), "cuCtxPopCurrent");
  return std::bit_cast<void*>(memory_.back());
}

void Device::Upload(void* to, const std::vector<char>& from) {
  Expect(driver_.upload(std::bit_cast<unsigned long long>(to), from.data(), from.size(), stream_),
         "cuMemcpyHtoDAsync");
}

void Device::Download(std::vector<char>& to, const void* from) {
  Expect(driver_.download(to.data(), std::bit_cast<unsigned long long>(from), to.size(), stream_),
         "cuMemcpyDtoHAsync");
}

void Device::Synchronize() {
  Expect(driver_.stream_synchronize(stream_), "cuStreamSynchronize");
}
