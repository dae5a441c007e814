#include "runtime/opencl/opencl_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/check.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// Returns the addresses that a buffer takes. One more than its bytes, so that the place of an empty
// tensor at its end is in no other buffer; mmap rounds up to pages.
size_t AddressesOf(int64_t bytes) {
  return static_cast<size_t>(bytes) + 1;
}

// Takes addresses that nobody may access and that take no memory.
StatusOr<uint8_t*> TakeAddresses(int64_t bytes, std::string_view what) {
  void* address = ::mmap(nullptr, AddressesOf(bytes), PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address != MAP_FAILED) return static_cast<uint8_t*>(address);
  return absl::ResourceExhaustedError(fmt::format("no addresses for {}, which takes {} bytes: {}",
                                                  what, bytes, std::strerror(errno)));
}

}  // namespace

OpenClMemory::~OpenClMemory() {
  TCC_CHECK(blocks_.empty()) << blocks_.size() << " buffers were not freed";
}

StatusOr<uint8_t*> OpenClMemory::Allocate(int64_t bytes, std::string_view what,
                                          const uint8_t* contents) {
  // Drivers refuse 0 bytes, and stores of packed elements touch whole words. What is copied from
  // the host has no more bytes there.
  const bool is_copy = contents != nullptr && bytes > 0;
  constexpr int64_t kWord = 4;
  const auto size = static_cast<size_t>(is_copy ? bytes : RoundUp(std::max(bytes, kWord), kWord));
  const OpenClFlags flags = kOpenClReadWrite | (is_copy ? kOpenClCopyOfHost : 0);
  auto describe = [&] {
    const OpenClDeviceInfo& device = context_->device();
    return fmt::format(
        "no memory on {} for {}, which takes {} bytes; one buffer may have {} of its {}",
        Describe(device), what, bytes, device.max_allocation_bytes, device.memory_bytes);
  };
  // The driver takes the contents as memory that it may write, and reads them.
  TCC_ASSIGN_OR_RETURN(
      OpenClBuffer handle,
      TCC_OPENCL_MAKE(context_->driver(), describe(), clCreateBuffer, context_->handle(), flags,
                      size, is_copy ? const_cast<uint8_t*>(contents) : nullptr));
  OpenClOwnedBuffer buffer(context_, handle);
  TCC_ASSIGN_OR_RETURN(uint8_t* address, TakeAddresses(bytes, what));
  std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<uintptr_t>(address), Block{std::move(buffer), bytes});
  return address;
}

void OpenClMemory::Free(uint8_t* address) {
  if (address == nullptr) return;
  std::lock_guard lock(mutex_);
  auto block = blocks_.find(reinterpret_cast<uintptr_t>(address));
  TCC_CHECK(block != blocks_.end()) << "memory is freed that was not allocated";
  ::munmap(address, AddressesOf(block->second.bytes));
  blocks_.erase(block);
}

StatusOr<OpenClMemory::Place> OpenClMemory::Find(const void* address, int64_t bytes) const {
  const auto place = reinterpret_cast<uintptr_t>(address);
  std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(place);
  if (after != blocks_.begin()) {
    const auto& [begin, block] = *std::prev(after);
    const uint64_t offset = place - begin;
    const auto size = static_cast<uint64_t>(block.bytes);
    if (bytes >= 0 && offset <= size && static_cast<uint64_t>(bytes) <= size - offset) {
      return Place{block.buffer.get(), static_cast<int64_t>(offset)};
    }
  }
  return InvalidInput("{} bytes at {} are not in a buffer of {}", bytes, address,
                      Describe(context_->device()));
}

StatusOr<OpenClBlock> OpenClBlock::Allocate(std::shared_ptr<OpenClMemory> memory, int64_t bytes,
                                            std::string_view what, const uint8_t* contents) {
  OpenClBlock block;
  TCC_ASSIGN_OR_RETURN(block.data_, memory->Allocate(bytes, what, contents));
  block.memory_ = std::move(memory);
  block.bytes_ = bytes;
  return block;
}

}  // namespace tcc
