#include "runtime/supervise/task_runner.h"

#include <algorithm>
#include <utility>

#include "support/check.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// Workers that a candidate must end before it is blamed.
constexpr int kTries = 2;

// The time beyond a candidate's own in which a GPU's worker answers. On CUDA it has a limit for
// each wait of its own, so this strikes a driver that does not return; OpenCL has no such waits,
// and this strikes a kernel that hangs. Text goes through the host compiler.
constexpr double kGpuSeconds = 10;
constexpr double kTextSeconds = 60;

double DriverSeconds(const ReadyMessage& device) {
  if (!device.gpu) return 0;
  return device.gpu->takes_text ? kTextSeconds : kGpuSeconds;
}

// The answer to the candidate `id`, nullopt for the reference.
StatusOr<Measurement> MeasuredBy(const MeasureFrame& answer, std::optional<uint64_t> id) {
  if (answer.kind != FrameKind::kMeasured) {
    return InvalidInput("a frame of kind {}; expected Measured",
                        static_cast<uint32_t>(answer.kind));
  }
  TCC_ASSIGN_OR_RETURN(MeasuredMessage measured, DecodeMeasured(answer.payload));
  if (id && measured.id != *id) {
    return InvalidInput("Measured of candidate {}; expected {}", measured.id, *id);
  }
  const Measurement& measurement = measured.measurement;
  if (measurement.status == MeasureStatus::kOk && measurement.seconds <= 0) {
    return InvalidInput("Measured without seconds");
  }
  return std::move(measured.measurement);
}

WorkerOptions WorkerOf(const TaskRunnerOptions& options) {
  return {.program = options.worker,
          .command = options.command,
          .log = options.log,
          .hello = options.hello};
}

}  // namespace

double UsualDeadlineSeconds(const ExpectedTime& expected) {
  return 2 + 100 * std::max(expected.reference, expected.stop_beyond) + 2 * expected.open;
}

StatusOr<std::unique_ptr<TaskRunner>> TaskRunner::Start(TaskRunnerOptions options) {
  TCC_CHECK(options.hello.threads >= 1) << options.hello.threads;
  TCC_CHECK(options.deadline_seconds != nullptr);
  if (options.worker.empty() && options.command.empty()) {
    TCC_ASSIGN_OR_RETURN(options.worker, FindWorker());
  }
  std::unique_ptr<TaskRunner> runner(new TaskRunner(std::move(options)));
  TCC_RETURN_IF_ERROR(runner->StartWorker());
  runner->device_ = runner->worker_->ready();
  return runner;
}

// Tries twice: the out-of-memory killer may end a worker before it is ready.
Status TaskRunner::StartWorker() {
  StatusOr<std::unique_ptr<WorkerProcess>> started = WorkerProcess::Start(WorkerOf(options_));
  if (absl::IsUnavailable(started.status())) started = WorkerProcess::Start(WorkerOf(options_));
  if (!started.ok()) return started.status();
  worker_ = *std::move(started);
  return OkStatus();
}

// Takes the spare worker, or starts one.
Status TaskRunner::TakeWorker() {
  worker_ = std::exchange(spare_, nullptr);
  if (worker_ && worker_->AwaitReady(WorkerOf(options_)).ok()) return OkStatus();
  worker_.reset();
  return StartWorker();
}

// A failure to start a spare worker shows when one is needed.
void TaskRunner::KeepSpare() {
  if (!options_.spare || spare_) return;
  StatusOr<std::unique_ptr<WorkerProcess>> begun = WorkerProcess::Begin(WorkerOf(options_));
  if (begun.ok()) spare_ = *std::move(begun);
}

// Tells the worker, a new one if the last one ended, what all its candidates have in common.
StatusOr<Measurement> TaskRunner::OpenTask() {
  for (int attempt = 1;; ++attempt) {
    if (!worker_) TCC_RETURN_IF_ERROR(TakeWorker());
    TCC_ASSIGN_OR_RETURN(Measurement reference,
                         Ask(FrameKind::kTask, task_, std::nullopt, options_.open_seconds));
    if (reference.status == MeasureStatus::kOk) {
      KeepSpare();
      return reference;
    }
    const std::string who = fmt::format("the reference of '{}'", name_);
    if (worker_ || attempt == kTries) {
      return absl::InternalError(fmt::format("{} is no reference: {}: {}", who,
                                             NameOf(reference.status), reference.message));
    }
    WarnOfRetry(who, reference);
  }
}

StatusOr<Measurement> TaskRunner::Open(std::string name, const TaskMessage& task) {
  name_ = std::move(name);
  task_ = Encode(task);
  Stopwatch stopwatch;
  StatusOr<Measurement> measurement = OpenTask();
  if (measurement.ok()) {
    expected_ = {.reference = measurement->seconds, .open = stopwatch.Seconds()};
  } else {
    task_.clear();
  }
  return measurement;
}

StatusOr<Measurement> TaskRunner::Measure(const MeasureMessage& candidate) {
  TCC_CHECK(is_open()) << "no task is open";
  const std::vector<uint8_t> payload = Encode(candidate);
  ExpectedTime expected = expected_;
  expected.stop_beyond = candidate.stop_beyond;
  const double seconds = options_.deadline_seconds(expected) + DriverSeconds(device_);
  for (int attempt = 1;; ++attempt) {
    if (!worker_) TCC_RETURN_IF_ERROR(OpenTask().status());
    TCC_ASSIGN_OR_RETURN(Measurement measurement,
                         Ask(FrameKind::kMeasure, payload, candidate.id, seconds));
    if (worker_ || told_hang_ || attempt == kTries) return measurement;
    WarnOfRetry(fmt::format("candidate {} of '{}'", candidate.id, name_), measurement);
  }
}

// Sends the frame and waits for the measurement. A worker that ends, hangs or talks nonsense is
// replaced by none, and the measurement says what happened. Error: it said Failed to a task.
StatusOr<Measurement> TaskRunner::Ask(FrameKind kind, std::span<const uint8_t> payload,
                                      std::optional<uint64_t> id, double seconds) {
  const Status sent = worker_->Send(kind, payload, seconds);
  told_hang_ = false;
  StatusOr<MeasureFrame> answer = sent.ok() ? worker_->Receive(seconds) : sent;
  if (!answer.ok()) return LoseWorker(answer.status(), seconds);
  if (kind == FrameKind::kTask && answer->kind == FrameKind::kFailed) {
    TCC_ASSIGN_OR_RETURN(const FailedMessage failed, DecodeFailed(answer->payload));
    return absl::InternalError(fmt::format("'{}': {}", name_, failed.message));
  }
  StatusOr<Measurement> measurement = MeasuredBy(*answer, id);
  if (!measurement.ok()) return LoseWorker(measurement.status(), seconds);
  // A worker that tells of a fault or a hang itself ends by itself, and nothing is timed before its
  // kernel is gone. That it hangs was no busy machine's fault.
  told_hang_ = measurement->status == MeasureStatus::kHang;
  if (told_hang_ || measurement->status == MeasureStatus::kFault) {
    worker_->End(kCrashSeconds);
    worker_.reset();
  }
  return measurement;
}

Measurement TaskRunner::LoseWorker(const Status& status, double seconds) {
  const bool gone = absl::IsUnavailable(status);
  const std::string end = worker_->End(gone ? kCrashSeconds : 0);
  worker_.reset();
  if (gone) return {.status = MeasureStatus::kFault, .message = "the worker " + end};
  if (absl::IsDeadlineExceeded(status)) {
    return {.status = MeasureStatus::kHang,
            .message = fmt::format("no answer within {:.3g} s", seconds)};
  }
  return {.status = MeasureStatus::kFault,
          .message = "the worker's answer is damaged: " + Message(status)};
}

void TaskRunner::WarnOfRetry(const std::string& who, const Measurement& lost) {
  if (!options_.warn) return;
  options_.warn(fmt::format("{}: {}; trying once more in a new worker", who, lost.message));
}

}  // namespace tcc
