#include "runtime/executor/module.h"

#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/executor/aligned_memory.h"
#include "support/printable.h"

namespace tcc {
namespace {

StatusOr<DeviceRow> FindDevice(const std::string& name, std::span<const DeviceRow> devices) {
  std::vector<std::string_view> known;
  for (const DeviceRow& row : devices) {
    if (row.name == name) return row;
    known.push_back(row.name);
  }
  return Missing(
      "the artefact's kernels run on device '{}', which this runtime does not have; it "
      "has {}",
      name, fmt::join(known, ", "));
}

constexpr size_t kChunkBytes = 4 << 20;
// Present pages behind the weights. The last panel of packed weights may be read beyond its end
// under masks that are all false; where no page is there, that costs hundreds of cycles each time.
constexpr size_t kBytesBehind = 1 << 20;

// Gives back the whole pages in the range, which are read from the file again if anybody asks.
void DropPages(std::span<const uint8_t> bytes) {
  auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t first = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  if (first >= bytes.size()) return;
  size_t whole = (bytes.size() - first) / page * page;
  if (whole > 0) ::madvise(const_cast<uint8_t*>(bytes.data()) + first, whole, MADV_DONTNEED);
}

}  // namespace

StatusOr<Module> Module::Load(const std::string& path, const LoadOptions& options) {
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(path));
  // Other devices have memory of their own.
  if (artefact.device == "cpu" && !options.map_weights) MoveWeightsToHugePages(artefact);
  StatusOr<Module> module = FromArtefact(std::move(artefact), options);
  if (!module.ok()) return Annotate(module.status(), path);
  return module;
}

StatusOr<Module> Module::FromBytes(SharedBytes file, const LoadOptions& options) {
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ParseArtefact(std::move(file)));
  return FromArtefact(std::move(artefact), options);
}

StatusOr<Module> Module::FromArtefact(Artefact artefact, const LoadOptions& options) {
  TCC_RETURN_IF_ERROR(VerifyArtefact(artefact));
  auto state = std::make_shared<State>();
  state->artefact = std::move(artefact);
  state->pool = options.pool;
  if (!state->pool) {
    state->pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = options.threads});
  }
  state->device = options.device;
  if (!state->device) {
    TCC_ASSIGN_OR_RETURN(DeviceRow row, FindDevice(state->artefact.device, options.devices));
    state->device = row.make({.pool = state->pool, .ordinal = options.ordinal});
  }
  StatusOr<LoadedKernels> kernels = state->device->LoadKernels(state->artefact);
  if (!kernels.ok()) return PrintableStatus(kernels.status());
  state->kernels = *std::move(kernels);
  return Module(std::move(state));
}

void MoveWeightsToHugePages(Artefact& artefact) {
  std::span<const uint8_t> mapped = artefact.weights.bytes;
  if (mapped.size() < kMinHugeBytes) return;
  DropPages(mapped);
  StatusOr<std::shared_ptr<uint8_t>> memory =
      AllocateMemory(static_cast<int64_t>(mapped.size() + kBytesBehind), "weights");
  if (!memory.ok()) return;
  std::memset(memory->get() + mapped.size(), 0, kBytesBehind);
  for (size_t at = 0; at < mapped.size(); at += kChunkBytes) {
    std::span<const uint8_t> chunk = mapped.subspan(at, std::min(kChunkBytes, mapped.size() - at));
    std::memcpy(memory->get() + at, chunk.data(), chunk.size());
    DropPages(chunk);
  }
  artefact.weights = {*memory, {memory->get(), mapped.size()}};
}

}  // namespace tcc
