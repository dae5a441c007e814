#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc::emulator {

// The global memory of the emulated device. Its buffers are poisoned and lie between red zones,
// which catch writes that the checks of single accesses miss. Thread-safe.
class DeviceMemory {
 public:
  static constexpr int64_t kRedZoneBytes = 4096;
  // A small buffer has a page of its own, and the page freed last is reused first: a stale pointer
  // finds another buffer there, as on a device.
  static constexpr int64_t kPageBytes = 65536;
  // The alignment of cuMemAlloc.
  static constexpr int64_t kAlignment = 256;

  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // Allocates a buffer; bytes >= 0.
  StatusOr<void*> Allocate(int64_t bytes);

  // Frees a buffer. Fails if it is unknown or its red zones have been written to.
  Status Free(void* buffer);
  Status CheckRedZones() const;
  // Checks the red zones of the buffer that `pointer` points into.
  Status CheckRedZones(const void* pointer) const;

  // Returns the bytes from `pointer` to the end of its buffer; -1 if it points into none.
  int64_t BytesFrom(const void* pointer) const;

 private:
  struct Buffer {
    std::byte* memory;
    int64_t bytes;
  };
  using Buffers = std::map<const std::byte*, Buffer>;
  std::byte* TakePlace(int64_t bytes);
  Buffers::const_iterator Find(const void* pointer) const;

  mutable std::mutex mutex_;
  Buffers buffers_;
  std::vector<std::byte*> free_pages_;
};

}  // namespace tcc::emulator
