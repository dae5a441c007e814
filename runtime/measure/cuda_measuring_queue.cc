#include "runtime/measure/cuda_measuring_queue.h"

#include <algorithm>
#include <utility>

#include "runtime/cuda/cuda_timing.h"
#include "runtime/executor/cold_sets.h"

namespace tcc {
namespace {

// A graph has a run for each set at least; slow kernels have fewer blocks.
CudaTimingOptions TimingFor(double once, int64_t sets, const GpuTimingLimits& limits) {
  double graph = std::max(limits.graph_seconds, once * static_cast<double>(sets));
  double blocks = limits.max_seconds / (graph * limits.replays);
  return {.launches = static_cast<int>(sets),
          .max_launches = std::max<int>(static_cast<int>(sets), limits.max_runs),
          .graph_seconds = limits.graph_seconds,
          .replays = limits.replays,
          .blocks = static_cast<int>(std::clamp<double>(blocks, 2, std::max(2, limits.blocks)))};
}

class CudaMeasuringQueue final : public MeasuringQueue {
 public:
  static StatusOr<std::unique_ptr<MeasuringQueue>> Make(const CudaMeasuringOptions& options) {
    CudaScope scope(*options.context);
    TCC_RETURN_IF_ERROR(scope.status());
    std::unique_ptr<CudaMeasuringQueue> queue(new CudaMeasuringQueue(options));
    TCC_ASSIGN_OR_RETURN(queue->timer_, CudaTimer::Make(options.context));
    return queue;
  }
  CudaMeasuringQueue(const CudaMeasuringQueue&) = delete;
  CudaMeasuringQueue& operator=(const CudaMeasuringQueue&) = delete;
  ~CudaMeasuringQueue() override {
    CudaScope scope(*options_.context);
    timer_.reset();
  }

  StatusOr<std::shared_ptr<uint8_t>> Allocate(int64_t bytes, std::string_view what) override {
    CudaScope scope(*options_.context);
    TCC_RETURN_IF_ERROR(scope.status());
    TCC_ASSIGN_OR_RETURN(CudaMemory memory, CudaMemory::Allocate(options_.context, bytes, what));
    auto owner = std::make_shared<CudaMemory>(std::move(memory));
    return std::shared_ptr<uint8_t>(owner, owner->data());
  }

  int64_t ColdSets(int64_t set_bytes) const override {
    const CudaDeviceInfo& device = options_.context->device();
    return CountColdSets(set_bytes, {device.l2_bytes, device.memory_bytes});
  }

  Status Upload(uint8_t* to, std::span<const uint8_t> from) override {
    CudaScope scope(*options_.context);
    TCC_RETURN_IF_ERROR(scope.status());
    return TCC_CUDA_CALL(driver(), "uploading operands", cuMemcpyHtoDAsync_v2, AddressOf(to),
                         from.data(), from.size(), timer_->stream());
  }

  Status Download(std::span<uint8_t> to, const uint8_t* from) override {
    constexpr char kReading[] = "reading an operand";
    CudaScope scope(*options_.context);
    TCC_RETURN_IF_ERROR(scope.status());
    TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver(), kReading, cuMemcpyDtoHAsync_v2, to.data(),
                                      AddressOf(from), to.size(), timer_->stream()));
    return TCC_CUDA_CALL(driver(), kReading, cuStreamSynchronize, timer_->stream());
  }

  Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) override {
    CudaScope scope(*options_.context);
    TCC_RETURN_IF_ERROR(scope.status());
    return TCC_CUDA_CALL(driver(), "copying an operand", cuMemcpyDtoDAsync_v2, AddressOf(to),
                         AddressOf(from), static_cast<size_t>(bytes), timer_->stream());
  }

  StatusOr<QueuedCandidate> Load(std::vector<uint8_t> artefact,
                                 std::span<const OperandRole> roles) override {
    return QueueCandidate(std::move(artefact), roles,
                          {.pool = options_.pool,
                           .devices = options_.devices,
                           .ordinal = options_.context->device().ordinal},
                          timer_->stream());
  }

  Status Launch(const QueuedCandidate& candidate, const KernelCall& call,
                std::span<void* const> buffers) override {
    return LaunchCall(candidate, call, buffers);
  }

  void LimitRuns(double seconds) override { timer_->LimitRuns(seconds); }

  Status Finish() override {
    CudaScope scope(*options_.context);
    TCC_RETURN_IF_ERROR(scope.status());
    return timer_->Finish();
  }

  StatusOr<double> TimeOnce(const QueuedCandidate& candidate,
                            const BuffersOfSet& buffers) override {
    CudaScope scope(*options_.context);
    TCC_RETURN_IF_ERROR(scope.status());
    return timer_->TimeOnce(WorkOf(candidate, buffers));
  }

  StatusOr<RunTimes> Time(const QueuedCandidate& candidate, const BuffersOfSet& buffers,
                          int64_t sets, double once, const GpuTimingLimits& limits) override {
    CudaScope scope(*options_.context);
    TCC_RETURN_IF_ERROR(scope.status());
    const CudaWork work = WorkOf(candidate, buffers);
    TCC_ASSIGN_OR_RETURN(
        std::vector<CudaTime> times,
        timer_->Time({&work, 1}, static_cast<size_t>(sets), TimingFor(once, sets, limits)));
    TCC_RETURN_IF_ERROR(times[0].graph);
    return RunTimes{.min_seconds = times[0].min_seconds,
                    .median_seconds = times[0].median_seconds,
                    .runs = times[0].runs};
  }

 private:
  explicit CudaMeasuringQueue(CudaMeasuringOptions options) : options_(std::move(options)) {}

  const CudaDriver& driver() const { return options_.context->driver(); }

  static CudaWork WorkOf(const QueuedCandidate& candidate, const BuffersOfSet& buffers) {
    return [&](size_t set) { return LaunchCall(candidate, candidate.kernel(), buffers(set)); };
  }

  CudaMeasuringOptions options_;
  std::unique_ptr<CudaTimer> timer_;
};

}  // namespace

MakeMeasuringQueue CudaMeasuringQueues(CudaMeasuringOptions options) {
  return [options = std::move(options)] { return CudaMeasuringQueue::Make(options); };
}

}  // namespace tcc
