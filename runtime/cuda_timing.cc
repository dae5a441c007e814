#include "runtime/cuda_timing.h"

#include <algorithm>
#include <cmath>

#include "runtime/cuda_queue.h"

namespace tcc {
namespace {

// More sets or longer graphs tell nothing new and take memory and time.
constexpr int64_t kMostSets = 64;
constexpr int64_t kMostLaunches = 4096;
// Of the device's memory, for all sets.
constexpr int64_t kMemoryShare = 4;

// The buffers of a kernel, once in each set.
struct BufferSets {
  std::vector<std::vector<void*>> buffers;
  std::vector<int64_t> bytes;
};

int64_t CountSets(int64_t set_bytes, const CudaDeviceInfo& device, bool cold) {
  if (!cold || set_bytes == 0) return 1;
  const int64_t wanted = 2 * device.l2_bytes / set_bytes + 1;
  const int64_t room = std::max<int64_t>(1, device.memory_bytes / kMemoryShare / set_bytes);
  return std::min({wanted, room, kMostSets});
}

StatusOr<BufferSets> MakeSets(CudaQueue& queue, const CudaDeviceInfo& device,
                              std::span<const std::span<const uint8_t>> contents, bool cold) {
  BufferSets sets;
  int64_t set_bytes = 0;
  for (std::span<const uint8_t> content : contents) {
    sets.bytes.push_back(static_cast<int64_t>(content.size()));
    set_bytes += sets.bytes.back();
  }
  const int64_t count = CountSets(set_bytes, device, cold);
  size_t slot = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<void*>& buffers = sets.buffers.emplace_back();
    for (std::span<const uint8_t> content : contents) {
      TCC_ASSIGN_OR_RETURN(
          uint8_t* memory,
          queue.Reserve(slot++, static_cast<int64_t>(content.size()), "a buffer to time with"));
      TCC_RETURN_IF_ERROR(queue.Upload(memory, content));
      buffers.push_back(memory);
    }
  }
  TCC_RETURN_IF_ERROR(queue.Finish());
  return sets;
}

int CountLaunches(double seconds, const CudaTimingOptions& options) {
  const double wanted = std::ceil(options.graph_seconds / std::max(seconds, 1e-9));
  return static_cast<int>(std::clamp<double>(wanted, options.launches, kMostLaunches));
}

}  // namespace

StatusOr<CudaTiming> TimeCudaKernel(const Module& module, size_t kernel,
                                    std::span<const std::span<const uint8_t>> contents,
                                    std::span<const int64_t> shapes,
                                    const CudaTimingOptions& options) {
  if (module.artefact().device != "cuda") {
    return UsageError("kernels of device '{}' are not timed on a GPU", module.artefact().device);
  }
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<CudaQueue> queue, CudaQueue::Make(program));
  TCC_ASSIGN_OR_RETURN(BufferSets sets,
                       MakeSets(*queue, program->context()->device(), contents, options.cold));
  auto launch = [&](size_t i) {
    const std::vector<void*>& buffers = sets.buffers[i % sets.buffers.size()];
    return queue->Launch(kernel, {buffers, sets.bytes, shapes});
  };
  // The first launch also loads code and makes room for workspaces.
  TCC_RETURN_IF_ERROR(launch(0));
  const LaunchArguments first = {sets.buffers[0], sets.bytes, shapes};
  TCC_ASSIGN_OR_RETURN(double once, queue->TimedLaunch(kernel, first));

  CudaTiming timing{.buffer_sets = static_cast<int>(sets.buffers.size()),
                    .launches = CountLaunches(once, options)};
  TCC_RETURN_IF_ERROR(queue->Record([&] {
    Status status;
    for (int i = 0; i < timing.launches && status.ok(); ++i) status = launch(i);
    return status;
  }));
  TCC_RETURN_IF_ERROR(queue->Replay());
  std::vector<double> seconds;
  for (int block = 0; block < std::max(1, options.blocks); ++block) {
    TCC_ASSIGN_OR_RETURN(double taken, queue->TimedReplays(options.replays));
    seconds.push_back(taken / options.replays / timing.launches);
  }
  std::ranges::sort(seconds);
  timing.min_seconds = seconds.front();
  timing.median_seconds = seconds[seconds.size() / 2];
  return timing;
}

}  // namespace tcc
