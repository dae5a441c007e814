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
// Present pages behind the weights. The last panel of packed weights may be read beyond its end
// under masks that are all false; where no page is there, that costs hundreds of cycles each time.
constexpr size_t kBehind = 1 << 20;

// Gives back the whole pages in the range, which are read from the file again if anybody asks.
void DropPages(std::span<const uint8_t> bytes) {
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t first = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  if (first >= bytes.size()) return;
  size_t whole = (bytes.size() - first) / page * page;
  if (whole > 0) ::madvise(const_cast<uint8_t*>(bytes.data()) + first, whole, MADV_DONTNEED);
}

}  // namespace

void MoveWeightsToHugePages(Artefact& artefact) {
  std::span<const uint8_t> mapped = artefact.weights.bytes;
  if (mapped.size() < kMinBytes) return;
  DropPages(mapped);
  StatusOr<std::shared_ptr<uint8_t>> memory =
      AllocateMemory(static_cast<int64_t>(mapped.size() + kBehind), "weights");
  if (!memory.ok()) return;
  std::memset(memory->get() + mapped.size(), 0, kBehind);
  for (size_t at = 0; at < mapped.size(); at += kChunk) {
    std::span<const uint8_t> chunk = mapped.subspan(at, std::min(kChunk, mapped.size() - at));
    std::memcpy(memory->get() + at, chunk.data(), chunk.size());
    DropPages(chunk);
  }
  artefact.weights = {*memory, {memory->get(), mapped.size()}};
}

}  // namespace tcc
