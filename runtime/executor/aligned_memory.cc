#include "runtime/executor/aligned_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/artefact/memory_plan.h"
#include "runtime/executor/available_memory.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// Up to here a mapping of its own costs more than clearing.
constexpr int64_t kSmallBytes = 64 << 10;

Status NoMemory(int64_t bytes, const std::string& what) {
  return absl::ResourceExhaustedError(
      fmt::format("no memory for {}, which takes {} bytes", what, bytes));
}

StatusOr<std::shared_ptr<uint8_t>> SmallMemory(int64_t bytes, const std::string& what) {
  // An empty tensor has an address too.
  const auto size = static_cast<size_t>(RoundUp(std::max<int64_t>(bytes, 1), kArenaAlignment));
  std::shared_ptr<uint8_t> memory(static_cast<uint8_t*>(std::aligned_alloc(kArenaAlignment, size)),
                                  std::free);
  if (memory == nullptr) return NoMemory(bytes, what);
  std::memset(memory.get(), 0, size);
  return memory;
}

}  // namespace

StatusOr<std::shared_ptr<uint8_t>> AllocateMemory(int64_t bytes, const std::string& what) {
  if (bytes <= kSmallBytes) return SmallMemory(bytes, what);
  TCC_RETURN_IF_ERROR(CheckMemoryFor(bytes, what));
  size_t size = static_cast<size_t>(bytes);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NoMemory(bytes, what);
  // Fewer TLB misses; the system may say no.
  if (bytes >= kMinHugeBytes) ::madvise(memory, size, MADV_HUGEPAGE);
  return std::shared_ptr<uint8_t>(static_cast<uint8_t*>(memory),
                                  [size](uint8_t* start) { ::munmap(start, size); });
}

StatusOr<Tensor> AllocateTensor(DType dtype, const std::vector<int64_t>& shape,
                                const std::string& what) {
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(dtype, shape));
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t> memory, AllocateMemory(bytes, what));
  std::span<const uint8_t> view(memory.get(), static_cast<size_t>(bytes));
  return Tensor{dtype, shape, std::move(memory), view};
}

}  // namespace tcc
