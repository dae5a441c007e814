#include "codegen_cuda/emulator/device_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "codegen_cuda/emulator/shared_memory.h"
#include "support/integer_division.h"

namespace tcc::emulator {
namespace {

constexpr std::byte kRedZone{0xa5};

// Returns the bytes of a buffer with its red zones.
int64_t TotalBytes(int64_t bytes) {
  return RoundUp(bytes, DeviceMemory::kAlignment) + 2 * DeviceMemory::kRedZoneBytes;
}

bool IsInPage(int64_t bytes) {
  return TotalBytes(bytes) <= DeviceMemory::kPageBytes;
}

bool IsRedZone(const std::byte* from, const std::byte* to) {
  return *from == kRedZone && std::memcmp(from, from + 1, static_cast<size_t>(to - from - 1)) == 0;
}

// Checks the red zones around the `bytes` bytes at `begin`; `memory` is where the first zone
// begins.
Status CheckZones(const std::byte* memory, const std::byte* begin, int64_t bytes) {
  if (!IsRedZone(memory, begin)) {
    return WrongResult("memory before a buffer of {} bytes was written to", bytes);
  }
  if (!IsRedZone(begin + bytes, memory + TotalBytes(bytes))) {
    return WrongResult("memory behind a buffer of {} bytes was written to", bytes);
  }
  return OkStatus();
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  for (const auto& [begin, buffer] : buffers_) std::free(buffer.memory);
  for (std::byte* page : free_pages_) std::free(page);
}

std::byte* DeviceMemory::TakePlace(int64_t bytes) {
  const bool in_page = IsInPage(bytes);
  if (in_page) {
    std::lock_guard lock(mutex_);
    if (!free_pages_.empty()) {
      std::byte* page = free_pages_.back();
      free_pages_.pop_back();
      return page;
    }
  }
  const int64_t total = in_page ? kPageBytes : TotalBytes(bytes);
  return static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<size_t>(total)));
}

StatusOr<void*> DeviceMemory::Allocate(int64_t bytes) {
  std::byte* memory = TakePlace(bytes);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(
        fmt::format("no memory for {} bytes of the emulated device", bytes));
  }
  std::byte* begin = memory + kRedZoneBytes;
  std::fill(memory, begin, kRedZone);
  std::fill(begin, begin + bytes, kPoison);
  std::fill(begin + bytes, memory + TotalBytes(bytes), kRedZone);
  std::lock_guard lock(mutex_);
  buffers_.emplace(begin, Buffer{memory, bytes});
  return begin;
}

Status DeviceMemory::CheckRedZones() const {
  std::lock_guard lock(mutex_);
  for (const auto& [begin, buffer] : buffers_) {
    TCC_RETURN_IF_ERROR(CheckZones(buffer.memory, begin, buffer.bytes));
  }
  return OkStatus();
}

Status DeviceMemory::CheckRedZones(const void* pointer) const {
  std::lock_guard lock(mutex_);
  const auto found = Find(pointer);
  if (found == buffers_.end()) return InvalidInput("no memory of the device");
  return CheckZones(found->second.memory, found->first, found->second.bytes);
}

Status DeviceMemory::Free(void* pointer) {
  std::lock_guard lock(mutex_);
  auto found = buffers_.find(static_cast<const std::byte*>(pointer));
  if (found == buffers_.end()) return InvalidInput("freed what is no buffer of the device");
  Status status = CheckZones(found->second.memory, found->first, found->second.bytes);
  if (IsInPage(found->second.bytes)) {
    free_pages_.push_back(found->second.memory);
  } else {
    std::free(found->second.memory);
  }
  buffers_.erase(found);
  return status;
}

DeviceMemory::Buffers::const_iterator DeviceMemory::Find(const void* pointer) const {
  const auto* at = static_cast<const std::byte*>(pointer);
  const auto after = buffers_.upper_bound(at);
  if (after == buffers_.begin()) return buffers_.end();
  const auto found = std::prev(after);
  return at <= found->first + found->second.bytes ? found : buffers_.end();
}

int64_t DeviceMemory::BytesFrom(const void* pointer) const {
  std::lock_guard lock(mutex_);
  const auto found = Find(pointer);
  if (found == buffers_.end()) return -1;
  return found->first + found->second.bytes - static_cast<const std::byte*>(pointer);
}

}  // namespace tcc::emulator
