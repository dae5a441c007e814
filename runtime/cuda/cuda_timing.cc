#include "runtime/cuda/cuda_timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/cuda/cuda_queue.h"
#include "runtime/executor/cold_sets.h"

namespace tcc {
namespace {

constexpr int kTries = 3;  // of a single run, of which the least counts

// The buffers of a kernel, once in each set.
struct BufferSets {
  std::vector<std::vector<void*>> buffers;
  std::vector<int64_t> bytes;
};

StatusOr<BufferSets> MakeSets(CudaQueue& queue, const CudaDeviceInfo& device,
                              std::span<const std::span<const uint8_t>> contents, CudaCache cache) {
  BufferSets sets;
  int64_t set_bytes = 0;
  for (std::span<const uint8_t> content : contents) {
    sets.bytes.push_back(static_cast<int64_t>(content.size()));
    set_bytes += sets.bytes.back();
  }
  const CacheAndMemory memory{device.l2_bytes, device.memory_bytes};
  const int64_t count = cache == CudaCache::kCold ? CountColdSets(set_bytes, memory) : 1;
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

}  // namespace

struct CudaTimer::Contestant {
  CudaWork work;
  size_t sets = 1;
  int launches = 0;
  double once = 0;  // seconds of a run, roughly
  StatusOr<CudaGraphExec> graph;
  std::vector<double> seconds = {};
};

StatusOr<std::unique_ptr<CudaTimer>> CudaTimer::Make(std::shared_ptr<const CudaContext> context) {
  std::unique_ptr<CudaTimer> timer(new CudaTimer(std::move(context)));
  TCC_ASSIGN_OR_RETURN(timer->stream_, MakeCudaStream(timer->context_));
  return timer;
}

CudaTimer::~CudaTimer() {
  if (stream_) (void)Finish();
}

Status CudaTimer::Finish() {
  if (limit_ <= 0) {
    return TCC_CUDA_CALL(context_->driver(), "taking time", cuStreamSynchronize, stream());
  }
  return stopwatch_.Time(context_, stream(), [] { return OkStatus(); }, limit_).status();
}

// Work of many runs may take longer than one run may.
double CudaTimer::LimitOf(double expected) const {
  constexpr double kSlower = 10;
  return limit_ <= 0 ? 0 : limit_ + kSlower * expected;
}

StatusOr<double> CudaTimer::TimeOnce(const CudaWork& work) {
  TCC_RETURN_IF_ERROR(work(0));
  TCC_RETURN_IF_ERROR(Finish());
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    TCC_ASSIGN_OR_RETURN(double seconds,
                         stopwatch_.Time(context_, stream(), [&] { return work(0); }, limit_));
    least = std::min(least, seconds);
  }
  return least;
}

StatusOr<CudaTimer::Contestant> CudaTimer::Prepare(const CudaWork& work, size_t sets,
                                                   const CudaTimingOptions& options) {
  TCC_ASSIGN_OR_RETURN(double once, TimeOnce(work));
  // Runs the work once on every other set: memory is allocated and code is loaded.
  for (size_t set = 1; set < sets; ++set) TCC_RETURN_IF_ERROR(work(set));
  TCC_RETURN_IF_ERROR(Finish());
  const double wanted = std::ceil(options.graph_seconds / std::max(once, 1e-9));
  const auto launches = static_cast<int>(std::clamp<double>(
      wanted, options.launches, std::max(options.launches, options.max_launches)));
  // Some libraries make calls that a capture does not allow.
  StatusOr<CudaGraphExec> graph = CaptureCudaGraph(context_, stream(), [&] {
    Status status;
    for (int i = 0; i < launches && status.ok(); ++i) status = work(static_cast<size_t>(i) % sets);
    return status;
  });
  // A capture also fails if the device did.
  if (!graph.ok() && (!work(0).ok() || !Finish().ok())) return graph.status();
  return Contestant{
      .work = work, .sets = sets, .launches = launches, .once = once, .graph = std::move(graph)};
}

Status CudaTimer::Replay(const Contestant& contestant) const {
  if (contestant.graph.ok()) {
    return TCC_CUDA_CALL(context_->driver(), "taking time", cuGraphLaunch, contestant.graph->get(),
                         stream());
  }
  for (int i = 0; i < contestant.launches; ++i) {
    TCC_RETURN_IF_ERROR(contestant.work(static_cast<size_t>(i) % contestant.sets));
  }
  return OkStatus();
}

StatusOr<std::vector<CudaTime>> CudaTimer::Time(std::span<const CudaWork> contestants, size_t sets,
                                                const CudaTimingOptions& options) {
  std::vector<Contestant> prepared;
  for (const CudaWork& work : contestants) {
    TCC_ASSIGN_OR_RETURN(Contestant contestant, Prepare(work, sets, options));
    prepared.push_back(std::move(contestant));
  }
  for (int block = 0; block < std::max(1, options.blocks); ++block) {
    for (Contestant& contestant : prepared) {
      // The contestant before left its own operands in the caches.
      TCC_RETURN_IF_ERROR(Replay(contestant));
      auto replays = [&]() -> Status {
        for (int i = 0; i < options.replays; ++i) TCC_RETURN_IF_ERROR(Replay(contestant));
        return OkStatus();
      };
      double limit = LimitOf(contestant.once * contestant.launches * (options.replays + 1));
      TCC_ASSIGN_OR_RETURN(double seconds, stopwatch_.Time(context_, stream(), replays, limit));
      contestant.seconds.push_back(seconds / options.replays / contestant.launches);
    }
  }
  std::vector<CudaTime> times;
  for (Contestant& contestant : prepared) {
    std::vector<double>& seconds = contestant.seconds;
    std::ranges::sort(seconds);
    times.push_back({.median_seconds = seconds[seconds.size() / 2],
                     .min_seconds = seconds.front(),
                     .launches = contestant.launches,
                     .runs = std::ssize(seconds) * options.replays * contestant.launches,
                     .graph = contestant.graph.status()});
  }
  return times;
}

StatusOr<CudaTime> TimeCudaKernel(const Module& module, size_t kernel,
                                  std::span<const std::span<const uint8_t>> contents,
                                  std::span<const int64_t> shapes, CudaCache cache,
                                  const CudaTimingOptions& options) {
  if (module.artefact().device != "cuda") {
    return UsageError("kernels of device '{}' are not timed on a GPU", module.artefact().device);
  }
  auto program = std::static_pointer_cast<const CudaProgram>(module.kernels().module);
  const std::shared_ptr<const CudaContext>& context = program->context();
  CudaScope scope(*context);
  TCC_RETURN_IF_ERROR(scope.status());
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<CudaQueue> queue, CudaQueue::Make(program));
  TCC_ASSIGN_OR_RETURN(BufferSets sets, MakeSets(*queue, context->device(), contents, cache));
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<CudaTimer> timer, CudaTimer::Make(context));
  queue->UseStream(timer->stream());
  const CudaWork work = [&](size_t set) {
    return queue->Launch(kernel, {sets.buffers[set], sets.bytes, shapes});
  };
  TCC_ASSIGN_OR_RETURN(std::vector<CudaTime> times,
                       timer->Time({&work, 1}, sets.buffers.size(), options));
  TCC_RETURN_IF_ERROR(times[0].graph);
  return times[0];
}

}  // namespace tcc
