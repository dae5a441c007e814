#include "search/measure/local_measurer.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "search/candidate/result_bound.h"
#include "search/measure/local_network.h"
#include "search/measure/worker_process.h"
#include "support/check.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// Workers that a candidate must end before it is blamed.
constexpr int kTries = 2;

// Candidates of all variants are compared with one reference, so the widest bound holds.
TaskMessage TaskOf(const Workload& workload, std::vector<uint8_t> reference,
                   const LocalMeasurerOptions& options) {
  TaskMessage task{.roles = RolesOf(workload),
                   .seed = options.seed,
                   .policy = options.policy,
                   .gpu = options.gpu,
                   .artefact = std::move(reference)};
  for (const Function& variant : workload.variants) {
    task.terms = std::max(task.terms, TermsOf(variant));
    task.epsilon = std::max(task.epsilon, EpsilonOf(variant));
  }
  return task;
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

// A program of "" was not found.
WorkerOptions OptionsOf(const LocalMeasurerOptions& options) {
  std::string program = options.worker;
  if (program.empty()) program = FindWorker().value_or("");
  return {.program = std::move(program), .log = options.log, .hello = options.hello};
}

class LocalMeasurer : public Measurer {
 public:
  LocalMeasurer(LocalMeasurerOptions options, std::unique_ptr<WorkerProcess> worker)
      : options_(std::move(options)), worker_(std::move(worker)) {}

  std::string Name() const override { return "local"; }
  StatusOr<Measurement> Open(const Workload& workload, std::vector<uint8_t> reference) override;
  void Submit(MeasureRequest request) override;
  StatusOr<std::optional<MeasureReport>> Take() override;

 private:
  StatusOr<Measurement> OpenTask();
  Status TakeWorker();
  void KeepSpare();
  StatusOr<Measurement> Measure(const MeasureRequest& request, std::span<const uint8_t> payload);
  StatusOr<Measurement> Ask(FrameKind kind, std::span<const uint8_t> payload,
                            std::optional<uint64_t> id, double seconds);
  Measurement LoseWorker(const Status& status, double seconds);
  void WarnOfRetry(const std::string& who, const Measurement& lost);

  const LocalMeasurerOptions options_;
  std::unique_ptr<WorkerProcess> worker_;  // null: the last one ended; otherwise the task is open
  std::unique_ptr<WorkerProcess> spare_;   // begun, not awaited; null: there is none
  std::string name_;                       // of the workload
  std::vector<uint8_t> task_;              // kTask's payload, sent to each worker; empty: none open
  ExpectedTime expected_;
  bool told_hang_ = false;  // the last answer was the worker's own word that a kernel hangs
  std::deque<MeasureRequest> queue_;
};

// Takes the spare worker, or starts one.
Status LocalMeasurer::TakeWorker() {
  worker_ = std::exchange(spare_, nullptr);
  if (worker_ && worker_->AwaitReady(OptionsOf(options_)).ok()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(worker_, StartWorker(options_));
  return OkStatus();
}

// A spare worker that cannot be started is no fault of anybody until one is needed.
void LocalMeasurer::KeepSpare() {
  if (!options_.spare || spare_) return;
  StatusOr<std::unique_ptr<WorkerProcess>> begun = WorkerProcess::Begin(OptionsOf(options_));
  if (begun.ok()) spare_ = *std::move(begun);
}

// Tells the worker, a new one where there is none, what all its candidates have in common.
StatusOr<Measurement> LocalMeasurer::OpenTask() {
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

StatusOr<Measurement> LocalMeasurer::Open(const Workload& workload,
                                          std::vector<uint8_t> reference) {
  TCC_CHECK(queue_.empty()) << queue_.size() << " candidates of '" << name_ << "' are waiting";
  TCC_CHECK(!workload.variants.empty()) << workload.name;
  name_ = workload.name;
  task_ = Encode(TaskOf(workload, std::move(reference), options_));
  Stopwatch stopwatch;
  StatusOr<Measurement> measurement = OpenTask();
  if (measurement.ok()) {
    expected_ = {.reference = measurement->seconds, .open = stopwatch.Seconds()};
  } else {
    task_.clear();
  }
  return measurement;
}

void LocalMeasurer::Submit(MeasureRequest request) {
  TCC_CHECK(!task_.empty()) << "no task is open";
  queue_.push_back(std::move(request));
}

StatusOr<std::optional<MeasureReport>> LocalMeasurer::Take() {
  if (queue_.empty()) return std::nullopt;
  MeasureRequest request = std::move(queue_.front());
  queue_.pop_front();
  const std::vector<uint8_t> payload =
      Encode(MeasureMessage{.id = request.id,
                            .stop_beyond = request.stop_beyond,
                            .artefact = std::exchange(request.artefact, {})});
  TCC_ASSIGN_OR_RETURN(Measurement measurement, Measure(request, payload));
  return MeasureReport{request.id, std::move(measurement)};
}

StatusOr<Measurement> LocalMeasurer::Measure(const MeasureRequest& request,
                                             std::span<const uint8_t> payload) {
  ExpectedTime expected = expected_;
  expected.stop_beyond = request.stop_beyond;
  const double seconds = options_.deadline_seconds(expected);
  for (int attempt = 1;; ++attempt) {
    if (!worker_) TCC_RETURN_IF_ERROR(OpenTask().status());
    TCC_ASSIGN_OR_RETURN(Measurement measurement,
                         Ask(FrameKind::kMeasure, payload, request.id, seconds));
    if (worker_ || told_hang_ || attempt == kTries) return measurement;
    WarnOfRetry(fmt::format("candidate {} of '{}'", request.id, name_), measurement);
  }
}

// Sends the frame and waits for the measurement. A worker that ends, hangs or talks nonsense is
// replaced by none, and the measurement says what happened. Error: it said Failed to a task.
StatusOr<Measurement> LocalMeasurer::Ask(FrameKind kind, std::span<const uint8_t> payload,
                                         std::optional<uint64_t> id, double seconds) {
  Status sent = worker_->Send(kind, payload, seconds);
  if (absl::IsResourceExhausted(sent)) return sent;
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

Measurement LocalMeasurer::LoseWorker(const Status& status, double seconds) {
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

void LocalMeasurer::WarnOfRetry(const std::string& who, const Measurement& lost) {
  if (!options_.warn) return;
  options_.warn(fmt::format("{}: {}; trying once more in a new worker", who, lost.message));
}

}  // namespace

double UsualDeadlineSeconds(const ExpectedTime& expected) {
  return 2 + 100 * std::max(expected.reference, expected.stop_beyond) + 2 * expected.open;
}

// A worker may be killed before it is ready by what it has no part in.
StatusOr<std::unique_ptr<WorkerProcess>> StartWorker(const LocalMeasurerOptions& options) {
  WorkerOptions worker = OptionsOf(options);
  if (worker.program.empty()) return FindWorker().status();
  StatusOr<std::unique_ptr<WorkerProcess>> started = WorkerProcess::Start(worker);
  if (absl::IsUnavailable(started.status())) return WorkerProcess::Start(worker);
  return started;
}

StatusOr<std::unique_ptr<Measurer>> MakeLocalMeasurer(LocalMeasurerOptions options,
                                                      std::unique_ptr<WorkerProcess> worker) {
  TCC_CHECK(options.hello.threads >= 1) << options.hello.threads;
  TCC_CHECK(options.deadline_seconds != nullptr);
  if (!worker) {
    TCC_ASSIGN_OR_RETURN(worker, StartWorker(options));
  }
  return std::make_unique<LocalMeasurer>(std::move(options), std::move(worker));
}

}  // namespace tcc
