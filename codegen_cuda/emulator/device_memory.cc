#include "codegen_cuda/emulator/device_memory.h"

#include <algorithm>
#include <cstdlib>

#include "codegen_cuda/emulator/shared_memory.h"

namespace tcc::emulator {
namespace {

constexpr std::byte kRedZone{0xa5};

int64_t RoundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

// Of a buffer with its red zones.
int64_t TotalBytes(int64_t bytes) {
  return RoundUp(bytes, DeviceMemory::kAlignment) + 2 * DeviceMemory::kRedZoneBytes;
}

bool IsInPage(int64_t bytes) {
  return TotalBytes(bytes) <= DeviceMemory::kPageBytes;
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

Status DeviceMemory::CheckRedZones(const std::byte* begin, const Buffer& buffer) const {
  auto written = [](const std::byte* from, const std::byte* to) {
    return std::any_of(from, to, [](std::byte value) { return value != kRedZone; });
  };
  if (written(buffer.memory, begin)) {
    return WrongResult("memory before a buffer of {} bytes was written to", buffer.bytes);
  }
  if (written(begin + buffer.bytes, buffer.memory + TotalBytes(buffer.bytes))) {
    return WrongResult("memory behind a buffer of {} bytes was written to", buffer.bytes);
  }
  return OkStatus();
}

Status DeviceMemory::CheckRedZones() const {
  std::lock_guard lock(mutex_);
  for (const auto& [begin, buffer] : buffers_) TCC_RETURN_IF_ERROR(CheckRedZones(begin, buffer));
  return OkStatus();
}

Status DeviceMemory::Free(void* pointer) {
  std::lock_guard lock(mutex_);
  auto found = buffers_.find(static_cast<const std::byte*>(pointer));
  if (found == buffers_.end()) return InvalidInput("freed what is no buffer of the device");
  Status status = CheckRedZones(found->first, found->second);
  if (IsInPage(found->second.bytes)) {
    free_pages_.push_back(found->second.memory);
  } else {
    std::free(found->second.memory);
  }
  buffers_.erase(found);
  return status;
}

int64_t DeviceMemory::BytesFrom(const void* pointer) const {
  const auto* at = static_cast<const std::byte*>(pointer);
  std::lock_guard lock(mutex_);
  auto after = buffers_.upper_bound(at);
  if (after == buffers_.begin()) return -1;
  const auto& [begin, buffer] = *std::prev(after);
  return at <= begin + buffer.bytes ? begin + buffer.bytes - at : -1;
}

}  // namespace tcc::emulator
