#include "runtime/executor/huge_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/executor/aligned_memory.h"

namespace tcc {
namespace {

constexpr size_t kMinBytes = 4 << 20;
constexpr size_t kChunk = 4 << 20;

// Gives back the whole pages in the range, which are read from the file again if anybody asks.
void DropPages(std::span<const uint8_t> bytes) {
  auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

void MoveWeightsToHugePages(Artefact& artefact) {
  std::span<const uint8_t> mapped = artefact.weights.bytes;
  if (mapped.size() < kMinBytes) return;
  DropPages(mapped);
  StatusOr<std::shared_ptr<uint8_t>> memory =
      AllocateMemory(static_cast<int64_t>(mapped.size()), "weights");
  if (!memory.ok()) return;
  for (size_t at = 0; at < mapped.size(); at += kChunk) {
    std::span<const uint8_t> chunk = mapped.subspan(at, std::min(kChunk, mapped.size() - at));
    std::memcpy(memory->get() + at, chunk.data(), chunk.size());
    DropPages(chunk);
  }
  artefact.weights = {*memory, {memory->get(), mapped.size()}};
}

}  // namespace tcc
