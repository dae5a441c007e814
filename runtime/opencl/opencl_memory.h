#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "runtime/opencl/opencl_context.h"
#include "support/status.h"

namespace tcc {

// The buffers of a context, by addresses that are made up: OpenCL has handles, and the runtime
// computes addresses. Each buffer has an address for each byte and one more, which the host may
// not access and which nothing else in the process has. May be used from several threads at once.
class OpenClMemory {
 public:
  explicit OpenClMemory(std::shared_ptr<const OpenClContext> context)
      : context_(std::move(context)) {}
  OpenClMemory(const OpenClMemory&) = delete;
  OpenClMemory& operator=(const OpenClMemory&) = delete;
  // Expects that all of it was freed.
  ~OpenClMemory();

  // Makes a buffer and returns its first address, a multiple of 4096; 0 bytes are allowed.
  // `contents`, if not null, is copied into it. `what` names it in messages. ResourceExhausted says
  // how much one buffer may have.
  StatusOr<uint8_t*> Allocate(int64_t bytes, std::string_view what,
                              const uint8_t* contents = nullptr);
  // Frees what Allocate returned; nothing for null. Work that is enqueued still has the buffer.
  void Free(uint8_t* address);

  struct Place {
    OpenClBuffer buffer = nullptr;
    int64_t offset = 0;  // of the address within the buffer, in bytes
  };
  // Finds the buffer of `bytes` bytes at an address. InvalidArgument if they do not lie in one.
  StatusOr<Place> Find(const void* address, int64_t bytes) const;

  const std::shared_ptr<const OpenClContext>& context() const { return context_; }

 private:
  struct Block {
    OpenClOwnedBuffer buffer;
    int64_t bytes = 0;
  };

  std::shared_ptr<const OpenClContext> context_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // by their first address
};

// A buffer that its owner frees.
class OpenClBlock {
 public:
  OpenClBlock() = default;
  static StatusOr<OpenClBlock> Allocate(std::shared_ptr<OpenClMemory> memory, int64_t bytes,
                                        std::string_view what, const uint8_t* contents = nullptr);
  OpenClBlock(OpenClBlock&& other) noexcept { *this = std::move(other); }
  OpenClBlock& operator=(OpenClBlock&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~OpenClBlock() {
    if (memory_ != nullptr) memory_->Free(data_);
  }

  uint8_t* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<OpenClMemory> memory_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace tcc
