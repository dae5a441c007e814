#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/cuda/cuda_driver.h"
#include "support/status.h"

namespace tcc {

// A device's primary context, which all its users in a process share. The destructor releases it.
class CudaContext {
 public:
  static StatusOr<std::shared_ptr<const CudaContext>> Open(const CudaDriver& driver, int ordinal);
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext();

  const CudaDriver& driver() const { return driver_; }
  const CudaDeviceInfo& device() const { return device_; }
  CudaContextHandle handle() const { return handle_; }

 private:
  CudaContext(const CudaDriver& driver, CudaDeviceInfo device, CudaContextHandle handle)
      : driver_(driver), device_(std::move(device)), handle_(handle) {}

  CudaDriver driver_;
  CudaDeviceInfo device_;
  CudaContextHandle handle_;
};

// A scope in which a context is current in the calling thread; its end restores the caller's
// context. status() says whether the context could be made current.
class CudaScope {
 public:
  explicit CudaScope(const CudaContext& context);
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;
  ~CudaScope();

  const Status& status() const { return status_; }

 private:
  const CudaContext& context_;
  Status status_;
};

// An object that the driver made in a context and that `Release` destroys. Errors of the
// destruction are dropped: those of earlier work have been reported where it was waited for, and
// what a broken context keeps goes with it.
template <typename Handle, CudaResult (*CudaDriver::*Release)(Handle)>
class CudaOwned {
 public:
  CudaOwned() = default;
  CudaOwned(std::shared_ptr<const CudaContext> context, Handle handle)
      : context_(std::move(context)), handle_(handle) {}
  CudaOwned(CudaOwned&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, Handle())) {}
  CudaOwned& operator=(CudaOwned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaOwned() { Reset(); }

  void Reset() {
    if (context_ == nullptr) return;
    // Releases even if the scope fails: an outer one may have made the context current.
    CudaScope scope(*context_);
    (context_->driver().*Release)(handle_);
    handle_ = Handle();
    context_.reset();
  }

  // Passes ownership to the caller.
  Handle Detach() {
    context_.reset();
    return std::exchange(handle_, Handle());
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return context_ != nullptr; }

 private:
  std::shared_ptr<const CudaContext> context_;
  Handle handle_ = Handle();
};

using CudaMemoryPool = CudaOwned<CudaPoolHandle, &CudaDriver::cuMemPoolDestroy>;
using CudaModule = CudaOwned<CudaModuleHandle, &CudaDriver::cuModuleUnload>;
using CudaStream = CudaOwned<CudaStreamHandle, &CudaDriver::cuStreamDestroy_v2>;
using CudaEvent = CudaOwned<CudaEventHandle, &CudaDriver::cuEventDestroy_v2>;
using CudaGraph = CudaOwned<CudaGraphHandle, &CudaDriver::cuGraphDestroy>;
using CudaGraphExec = CudaOwned<CudaGraphExecHandle, &CudaDriver::cuGraphExecDestroy>;

// A block of device memory, at a multiple of 256.
class CudaMemory {
 public:
  CudaMemory() = default;

  // Allocates device memory; 0 bytes are allowed. `what` names the memory in messages. Expects the
  // context to be current in the calling thread. ResourceExhausted says how much is free.
  static StatusOr<CudaMemory> Allocate(const std::shared_ptr<const CudaContext>& context,
                                       int64_t bytes, std::string_view what);
  CudaMemory(std::shared_ptr<const CudaContext> context, CudaAddress address, int64_t bytes)
      : memory_(std::move(context), address), bytes_(bytes) {}

  uint8_t* data() const { return std::bit_cast<uint8_t*>(memory_.get()); }
  int64_t bytes() const { return bytes_; }
  void Reset() {
    memory_.Reset();
    bytes_ = 0;
  }
  // Passes ownership to the caller.
  CudaAddress Detach() {
    bytes_ = 0;
    return memory_.Detach();
  }

 private:
  CudaOwned<CudaAddress, &CudaDriver::cuMemFree_v2> memory_;
  int64_t bytes_ = 0;
};

inline CudaAddress AddressOf(const void* memory) {
  return std::bit_cast<CudaAddress>(memory);
}

// Returns the failure of `call` to allocate `bytes` for `what`; says how much is free where that is
// why.
Status NoCudaMemory(const CudaContext& context, CudaResult result, std::string_view call,
                    int64_t bytes, std::string_view what);

}  // namespace tcc
