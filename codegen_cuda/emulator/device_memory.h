#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/status.h"

namespace tcc::emulator {

// The global memory of the emulated device: buffers, poisoned, each between red zones, which show
// what got past the checks of single accesses. May be used from several threads at once.
class DeviceMemory {
 public:
  static constexpr int64_t kRedZoneBytes = 4096;
  // What is small has a page of its own, and the page freed last is the next one given: whoever
  // remembers a freed place finds another buffer there, as on a device.
  static constexpr int64_t kPageBytes = 65536;
  // What cuMemAlloc aligns to.
  static constexpr int64_t kAlignment = 256;

  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  // bytes >= 0.
  StatusOr<void*> Allocate(int64_t bytes);

  // Fails if the buffer is none of ours or its red zones have been written to.
  Status Free(void* buffer);
  Status CheckRedZones() const;
  // Of the buffer that `pointer` points into.
  Status CheckRedZones(const void* pointer) const;

  // From `pointer` to the end of the buffer that it points into; -1 if it points into none.
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
