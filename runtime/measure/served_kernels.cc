#include "runtime/measure/served_kernels.h"

#include <algorithm>

#include "runtime/executor/aligned_memory.h"

namespace tcc {

StatusOr<ServedKernels> ServedKernels::Load(std::span<const uint8_t> artefact,
                                            std::shared_ptr<ThreadPool> pool) {
  LoadOptions options;
  options.pool = std::move(pool);
  TCC_ASSIGN_OR_RETURN(
      Module module,
      Module::FromBytes(OwnBytes(std::vector<uint8_t>(artefact.begin(), artefact.end())), options));
  if (module.artefact().device != "cpu") {
    return InvalidInput("kernels are for device '{}'; expected 'cpu'", module.artefact().device);
  }
  TCC_ASSIGN_OR_RETURN(const EmulatorCounters* counters, EmulatorCounters::OfProcess());
  return ServedKernels(std::move(module), counters);
}

StatusOr<uint8_t*> ServedKernels::PlaceOf(const LaunchBuffer& buffer,
                                          std::span<uint8_t* const> regions) const {
  if (buffer.region != LaunchBuffer::kWeights) return regions[buffer.region] + buffer.offset;
  const std::span<const uint8_t> weights = module_.artefact().weights.bytes;
  if (buffer.offset > weights.size() || buffer.bytes > weights.size() - buffer.offset) {
    return InvalidInput("{} bytes at {} do not lie within {} bytes of weights", buffer.bytes,
                        buffer.offset, weights.size());
  }
  return const_cast<uint8_t*>(weights.data()) + buffer.offset;
}

StatusOr<LaunchedMessage> ServedKernels::Launch(const LaunchMessage& message) const {
  const std::vector<KernelInfo>& kernels = module_.metadata().kernels;
  if (message.kernel >= kernels.size()) {
    return InvalidInput("kernel {} is launched; there are {}", message.kernel, kernels.size());
  }
  std::vector<std::shared_ptr<uint8_t>> memory;
  std::vector<uint8_t*> regions;
  for (const LaunchRegion& region : message.regions) {
    const auto bytes = static_cast<int64_t>(region.bytes.size() + region.misalignment);
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<uint8_t> place,
                         AllocateMemory(std::max<int64_t>(bytes, 1), "a launch"));
    memory.push_back(place);
    regions.push_back(place.get() + region.misalignment);
    std::ranges::copy(region.bytes, regions.back());
  }
  std::vector<void*> buffers;
  std::vector<int64_t> bytes;
  for (const LaunchBuffer& buffer : message.buffers) {
    TCC_ASSIGN_OR_RETURN(uint8_t* place, PlaceOf(buffer, regions));
    buffers.push_back(place);
    bytes.push_back(static_cast<int64_t>(buffer.bytes));
  }
  const LaunchArguments arguments = {
      .buffers = buffers, .bytes = bytes, .shape_args = message.shape_args};
  const InstructionCounts before = counters_ ? counters_->Now() : InstructionCounts();
  TCC_RETURN_IF_ERROR(module_.device().Launch(module_.kernels(), message.kernel, arguments));
  LaunchedMessage launched;
  if (counters_) launched.counts = counters_->Now() - before;
  for (size_t r = 0; r < regions.size(); ++r) {
    launched.regions.emplace_back(regions[r], regions[r] + message.regions[r].bytes.size());
  }
  return launched;
}

}  // namespace tcc
