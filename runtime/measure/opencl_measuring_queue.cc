#include "runtime/measure/opencl_measuring_queue.h"

#include <algorithm>
#include <utility>

#include "runtime/artefact/gpu_program.h"
#include "runtime/executor/cold_sets.h"
#include "runtime/opencl/opencl_device.h"
#include "runtime/opencl/opencl_queue.h"

namespace tcc {
namespace {

constexpr int kTries = 3;        // of a single run, of which the least counts
constexpr int64_t kMinRuns = 5;  // of a kernel that takes long

// A queue without kernels, for transfers.
StatusOr<std::unique_ptr<OpenClQueue>> MakeTransfers(const std::shared_ptr<OpenClMemory>& memory) {
  Artefact bare;
  bare.kernels =
      OwnBytes(GpuProgramBytes({.code = GpuCode::kOpenClText, .images = {}, .kernels = {}}));
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const OpenClProgram> program,
                       OpenClProgram::Load(memory, bare, /*cache_folder=*/""));
  return OpenClQueue::Make(std::move(program));
}

// Every candidate has a queue of its own, and nothing orders the work of two: each piece of work is
// waited for.
class OpenClMeasuringQueue final : public MeasuringQueue {
 public:
  OpenClMeasuringQueue(std::shared_ptr<OpenClMemory> memory, std::shared_ptr<ThreadPool> pool,
                       std::unique_ptr<OpenClQueue> transfers, OpenClBlock probe)
      : memory_(std::move(memory)),
        load_{.pool = std::move(pool), .device = MakeOpenClDevice(memory_)},
        transfers_(std::move(transfers)),
        probe_(std::move(probe)) {}

  StatusOr<std::shared_ptr<uint8_t>> Allocate(int64_t bytes, std::string_view what) override {
    TCC_ASSIGN_OR_RETURN(OpenClBlock block, OpenClBlock::Allocate(memory_, bytes, what));
    auto owner = std::make_shared<OpenClBlock>(std::move(block));
    return std::shared_ptr<uint8_t>(owner, owner->data());
  }

  int64_t ColdSets(int64_t set_bytes) const override {
    const OpenClDeviceInfo& device = memory_->context()->device();
    return CountColdSets(set_bytes, {device.cache_bytes, device.memory_bytes});
  }

  Status Upload(uint8_t* to, std::span<const uint8_t> from) override {
    return transfers_->Upload(to, from);
  }
  Status Download(std::span<uint8_t> to, const uint8_t* from) override {
    return transfers_->Download(to, from);
  }
  Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) override {
    TCC_RETURN_IF_ERROR(transfers_->Copy(to, from, bytes));
    return transfers_->Finish();
  }

  StatusOr<QueuedCandidate> Load(std::vector<uint8_t> artefact,
                                 std::span<const OperandRole> roles) override {
    return QueueCandidate(std::move(artefact), roles, load_, nullptr);
  }

  Status Launch(const QueuedCandidate& candidate, const KernelCall& call,
                std::span<void* const> buffers) override {
    TCC_RETURN_IF_ERROR(LaunchCall(candidate, call, buffers));
    return candidate.queue->Finish();
  }

  void LimitRuns(double) override {}
  // Reads a byte, too: a driver whose context a kernel broke may say nothing when it is waited for.
  Status Finish() override {
    TCC_RETURN_IF_ERROR(transfers_->Finish());
    uint8_t byte = 0;
    return transfers_->Download({&byte, 1}, probe_.data());
  }

  // PoCL links a kernel at its first launch, which takes 0.4 s: the run that warms up does that.
  StatusOr<double> TimeOnce(const QueuedCandidate& candidate,
                            const BuffersOfSet& buffers) override {
    TCC_ASSIGN_OR_RETURN(double least, TimeRun(candidate, buffers(0)));
    for (int i = 0; i < kTries; ++i) {
      TCC_ASSIGN_OR_RETURN(const double seconds, TimeRun(candidate, buffers(0)));
      least = i == 0 ? seconds : std::min(least, seconds);
    }
    return least;
  }

  // A first round through the sets does not count: the first set was used last, by a check.
  StatusOr<RunTimes> Time(const QueuedCandidate& candidate, const BuffersOfSet& buffers,
                          int64_t sets, double once, const GpuTimingLimits& limits) override {
    const double affordable = limits.max_seconds / std::max(once, 1e-9);
    const auto runs = static_cast<int64_t>(
        std::clamp<double>(affordable, kMinRuns, std::max<double>(kMinRuns, limits.max_runs)));
    std::vector<double> seconds;
    for (int64_t i = 0; i < sets + runs; ++i) {
      TCC_ASSIGN_OR_RETURN(const double taken,
                           TimeRun(candidate, buffers(static_cast<size_t>(i % sets))));
      if (i >= sets) seconds.push_back(taken);
    }
    std::ranges::sort(seconds);
    return RunTimes{.min_seconds = seconds.front(),
                    .median_seconds = seconds[seconds.size() / 2],
                    .runs = runs};
  }

 private:
  // Returns the seconds from the begin of the kernel's first launch to the end of its last one, as
  // the driver's events tell: what the host takes to enqueue, and to wake up after clFinish, is
  // many times a short kernel's time and the same for all schedules.
  StatusOr<double> TimeRun(const QueuedCandidate& candidate, std::span<void* const> buffers) {
    const KernelCall& call = candidate.kernel();
    return candidate.queue->TimedLaunch(call.kernel, {buffers, call.bytes, call.shape_args});
  }

  std::shared_ptr<OpenClMemory> memory_;
  LoadOptions load_;
  std::unique_ptr<OpenClQueue> transfers_;
  OpenClBlock probe_;
};

}  // namespace

MakeMeasuringQueue OpenClMeasuringQueues(std::shared_ptr<OpenClMemory> memory,
                                         std::shared_ptr<ThreadPool> pool) {
  return [memory = std::move(memory),
          pool = std::move(pool)]() -> StatusOr<std::unique_ptr<MeasuringQueue>> {
    TCC_ASSIGN_OR_RETURN(std::unique_ptr<OpenClQueue> transfers, MakeTransfers(memory));
    TCC_ASSIGN_OR_RETURN(OpenClBlock probe, OpenClBlock::Allocate(memory, 1, "a byte"));
    return std::make_unique<OpenClMeasuringQueue>(memory, pool, std::move(transfers),
                                                  std::move(probe));
  };
}

}  // namespace tcc
