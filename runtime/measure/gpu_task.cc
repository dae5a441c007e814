#include "runtime/measure/gpu_task.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "runtime/measure/guarded_block.h"
#include "runtime/measure/task_operands.h"
#include "support/check.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// Whatever a launch and two events cost beside the kernel, seconds.
constexpr double kLaunchSlack = 10e-6;
constexpr int64_t kCopyAlignment = 256;

// Returns the memory of a call's buffers.
std::vector<void*> BuffersOn(const KernelCall& call,
                             const std::function<uint8_t*(size_t buffer)>& memory_of) {
  std::vector<void*> buffers;
  for (size_t buffer : call.buffers) buffers.push_back(memory_of(buffer));
  return buffers;
}

// Returns the buffers of a call, each once.
std::vector<size_t> DistinctBuffers(const KernelCall& call) {
  std::vector<size_t> buffers = call.buffers;
  std::ranges::sort(buffers);
  buffers.erase(std::ranges::unique(buffers).begin(), buffers.end());
  return buffers;
}

}  // namespace

class GpuTask::State {
 public:
  State(TaskMessage message, MakeMeasuringQueue make_queue)
      : message_(std::move(message)), make_queue_(std::move(make_queue)) {}

  Measurement Open();
  Measurement Measure(MeasureMessage message);
  // Waits for the queue before memory is freed, unless that would never end.
  ~State() {
    if (end_ != MeasureStatus::kHang) queue_.reset();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  MeasureStatus end() const { return end_; }

 private:
  Status MakeOperands(const LoadedCandidate& reference);
  GuardedBlock& BlockOf(size_t operand, size_t set) {
    return blocks_[operands_[operand].HasSet(set) ? set : 0];
  }

  // Everything up to the timing; statuses other than kOk end the measuring.
  Measurement Prepare(const QueuedCandidate& candidate);
  Measurement Launch(const QueuedCandidate& candidate, size_t set);
  StatusOr<std::string> ReadOutputs();
  Measurement Check(const QueuedCandidate& candidate, size_t set);
  Measurement CheckAll(const QueuedCandidate& candidate, double stop_beyond);
  OperandBytes Results();
  Measurement RunReference(const QueuedCandidate& reference);
  Status UploadInputs(size_t set, decltype(&FillOperand) write);
  Measurement RunPerturbed(const QueuedCandidate& reference);
  StatusOr<std::string> RestoreOperands();
  Measurement Restored(Measurement checked);
  Measurement CheckAndTime(const QueuedCandidate& candidate, double stop_beyond);

  StatusOr<double> TimeOnce(const QueuedCandidate& candidate);
  StatusOr<RunTimes> TimeSets(const QueuedCandidate& candidate, double once);
  Measurement Time(const QueuedCandidate& candidate, Measurement checked);
  bool IsCold(size_t buffer) const;
  Status MakeCopies(const KernelCall& call, std::span<const size_t> cold, int64_t sets);

  uint8_t* DeviceMemory(size_t buffer, size_t set);
  Status LaunchOn(const QueuedCandidate& candidate, const KernelCall& call,
                  const std::function<uint8_t*(size_t buffer)>& memory_of);
  Measurement Lost(const Status& status);

  TaskMessage message_;
  MakeMeasuringQueue make_queue_;
  MeasureStatus end_ = MeasureStatus::kOk;
  double reference_seconds_ = 0;

  std::vector<TaskOperand> operands_;
  std::unique_ptr<MeasuringQueue> queue_;
  GuardedBlock blocks_[kValueSets];  // all operands with the first values; inputs with the second
  std::vector<std::vector<uint8_t>> outputs_;  // by operand: the results of the latest launch
  GuardedBlock prepared_;                      // of the latest candidate
  std::shared_ptr<uint8_t> copies_;            // of cold operands, set by set
  int64_t copied_bytes_ = 0;
  std::vector<int64_t> copy_of_;  // by buffer: its offset in a set of copies; -1: none
  int64_t copy_stride_ = 0;
};

// A context that is broken answers every call with the error that broke it. One with a kernel that
// does not end answers none.
Measurement GpuTask::State::Lost(const Status& status) {
  if (absl::IsDeadlineExceeded(status)) {
    end_ = MeasureStatus::kHang;
    return Failure(end_, Message(status));
  }
  if (queue_->Finish().ok()) return FailureOf(status);
  end_ = MeasureStatus::kFault;
  return Failure(end_, Message(status));
}

// Operands that a set has no values of its own for have no bytes in its block.
Status GpuTask::State::MakeOperands(const LoadedCandidate& reference) {
  operands_ = OperandsOf(message_, reference);
  outputs_.resize(operands_.size());
  for (size_t set = 0; set < kValueSets; ++set) {
    std::vector<int64_t> sizes;
    for (const TaskOperand& operand : operands_) {
      sizes.push_back(operand.HasSet(set) ? operand.bytes : 0);
    }
    TCC_ASSIGN_OR_RETURN(blocks_[set],
                         GuardedBlock::Make(*queue_, sizes, "the operands of a task"));
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!operands_[i].HasSet(set)) continue;
      std::span<uint8_t> image = blocks_[set].image(i);
      if (operands_[i].role == OperandRole::kOutput) {
        std::ranges::fill(image, uint8_t{0xff});
      } else {
        FillOperand(operands_[i], set, message_.epsilon, image);
      }
    }
    TCC_RETURN_IF_ERROR(blocks_[set].UploadAll());
  }
  return queue_->Finish();
}

uint8_t* GpuTask::State::DeviceMemory(size_t buffer, size_t set) {
  if (buffer < operands_.size()) return BlockOf(buffer, set).device(buffer);
  return prepared_.device(buffer - operands_.size());
}

Status GpuTask::State::LaunchOn(const QueuedCandidate& candidate, const KernelCall& call,
                                const std::function<uint8_t*(size_t buffer)>& memory_of) {
  return queue_->Launch(candidate, call, BuffersOn(call, memory_of));
}

// --- checking

// Runs the prepare kernels. The memory that they fill begins as zeros, as it does in an artefact.
Measurement GpuTask::State::Prepare(const QueuedCandidate& candidate) {
  const LoadedCandidate& loaded = candidate.loaded;
  StatusOr<GuardedBlock> made = GuardedBlock::Make(
      *queue_, std::span(loaded.bytes).subspan(operands_.size()), "prepared operands");
  if (!made.ok()) return Lost(made.status());
  prepared_ = *std::move(made);
  Status status = prepared_.UploadAll();
  std::span<const KernelCall> calls = loaded.calls;
  for (const KernelCall& call : calls.first(calls.size() - 1)) {
    if (!status.ok()) break;
    status = LaunchOn(candidate, call, [&](size_t b) { return DeviceMemory(b, kTimedSet); });
  }
  if (status.ok()) status = queue_->Finish();
  return status.ok() ? Measurement() : Lost(Annotate(status, "prepare kernel"));
}

// Reads the results. Returns which operand the kernel wrote beside, "" for none.
StatusOr<std::string> GpuTask::State::ReadOutputs() {
  GuardedBlock& block = blocks_[0];
  std::string damage;
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].role != OperandRole::kOutput) continue;
    TCC_RETURN_IF_ERROR(block.Download(i));
    outputs_[i].assign(block.downloaded().begin(), block.downloaded().end());
    std::string_view side = block.DamagedSide();
    if (damage.empty() && !side.empty()) {
      damage = fmt::format("wrote right {} operand {}", side, operands_[i].name);
    }
  }
  return damage;
}

// Runs the kernel once, on poisoned results.
Measurement GpuTask::State::Launch(const QueuedCandidate& candidate, size_t set) {
  Status status;
  for (size_t i = 0; i < operands_.size() && status.ok(); ++i) {
    if (operands_[i].role == OperandRole::kOutput) status = blocks_[0].Upload(i);
  }
  if (status.ok()) {
    status = LaunchOn(candidate, candidate.kernel(),
                      [&](size_t buffer) { return DeviceMemory(buffer, set); });
  }
  if (status.ok()) status = queue_->Finish();
  StatusOr<std::string> damage = status.ok() ? ReadOutputs() : status;
  if (!damage.ok()) return Lost(damage.status());
  return damage->empty() ? Measurement() : Failure(MeasureStatus::kWrong, *damage);
}

OperandBytes GpuTask::State::Results() {
  return [this](size_t operand) { return std::span<const uint8_t>(outputs_[operand]); };
}

// Before a wrong candidate runs again its inputs are made what they were.
Measurement GpuTask::State::Check(const QueuedCandidate& candidate, size_t set) {
  const ErrorBound bound{.terms = message_.terms, .epsilon = message_.epsilon};
  bool again = false;
  return CheckTwice({.launch =
                         [&] {
                           if (std::exchange(again, true)) {
                             for (const GuardedBlock& block : blocks_) {
                               Status uploaded = block.UploadAll();
                               if (!uploaded.ok()) return Lost(uploaded);
                             }
                           }
                           return Launch(candidate, set);
                         },
                     .compare = [&] { return CompareResults(operands_, set, bound, Results()); }});
}

// The first runs load code and wake the clock, so the time of neither counts.
Measurement GpuTask::State::CheckAll(const QueuedCandidate& candidate, double stop_beyond) {
  Measurement right;
  for (size_t set = 0; set < kValueSets; ++set) {
    Measurement checked = Check(candidate, set);
    if (checked.status != MeasureStatus::kOk) return checked;
    right.error = std::max(right.error, checked.error);
  }
  StatusOr<double> once = TimeOnce(candidate);
  if (!once.ok()) return Lost(once.status());
  right.seconds = *once;
  bool is_slow = stop_beyond > 0 && *once > stop_beyond + kLaunchSlack;
  return is_slow ? Slow(std::move(right), stop_beyond) : right;
}

// Makes operands what they were. Returns what the candidate wrote that it may not, "" for nothing.
StatusOr<std::string> GpuTask::State::RestoreOperands() {
  std::string written, beside;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const TaskOperand& operand = operands_[i];
    if (operand.role == OperandRole::kOutput) continue;
    for (size_t set = 0; set < kValueSets; ++set) {
      if (!operand.HasSet(set)) continue;
      TCC_ASSIGN_OR_RETURN(GuardedBlock::Change change, blocks_[set].Restore(i));
      bool is_written = change == GuardedBlock::Change::kOperand;
      if (is_written && written.empty()) written = "wrote its input " + operand.name;
      if (change == GuardedBlock::Change::kZone) beside = "wrote beside operand " + operand.name;
    }
  }
  TCC_RETURN_IF_ERROR(queue_->Finish());
  return written.empty() ? beside : written;
}

// Returns the measurement of a candidate, or what it wrote that it may not.
Measurement GpuTask::State::Restored(Measurement checked) {
  if (end_ != MeasureStatus::kOk) return checked;
  StatusOr<std::string> written = RestoreOperands();
  if (!written.ok()) return Lost(written.status());
  // A zone beside a result is beside an input too, and has been told of better.
  bool is_told = checked.status == MeasureStatus::kWrong && written->starts_with("wrote beside");
  if (written->empty() || is_told) return checked;
  return Failure(MeasureStatus::kWrong, *written);
}

// --- timing

bool GpuTask::State::IsCold(size_t buffer) const {
  switch (message_.policy) {
    case MeasurePolicy::kWarm:
      return false;
    case MeasurePolicy::kRotateWeightsL2:
      return buffer >= operands_.size() || operands_[buffer].role == OperandRole::kConstant;
    case MeasurePolicy::kRotateL2:
      return true;
    case MeasurePolicy::kRotate64M:
    case MeasurePolicy::kInPlace:
      break;
  }
  TCC_UNREACHABLE();
}

StatusOr<double> GpuTask::State::TimeOnce(const QueuedCandidate& candidate) {
  return queue_->TimeOnce(candidate, [&](size_t) {
    return BuffersOn(candidate.kernel(),
                     [&](size_t buffer) { return DeviceMemory(buffer, kTimedSet); });
  });
}

// Copies the cold operands for all sets but the first, which the checked operands are.
Status GpuTask::State::MakeCopies(const KernelCall& call, std::span<const size_t> cold,
                                  int64_t sets) {
  copy_of_.assign(operands_.size() + prepared_.size(), -1);
  copy_stride_ = 0;
  std::vector<int64_t> bytes(copy_of_.size());
  for (size_t i = 0; i < call.buffers.size(); ++i) bytes[call.buffers[i]] = call.bytes[i];
  for (size_t buffer : cold) {
    copy_of_[buffer] = copy_stride_;
    copy_stride_ += RoundUp(bytes[buffer], kCopyAlignment);
  }
  const int64_t wanted = copy_stride_ * (sets - 1);
  if (copied_bytes_ < wanted) {
    copies_.reset();
    copied_bytes_ = 0;
    TCC_ASSIGN_OR_RETURN(copies_, queue_->Allocate(wanted, "copies of operands"));
    copied_bytes_ = wanted;
  }
  for (int64_t set = 1; set < sets; ++set) {
    for (size_t buffer : cold) {
      if (bytes[buffer] == 0) continue;
      uint8_t* to = copies_.get() + (set - 1) * copy_stride_ + copy_of_[buffer];
      TCC_RETURN_IF_ERROR(queue_->Copy(to, DeviceMemory(buffer, kTimedSet), bytes[buffer]));
    }
  }
  return OkStatus();
}

StatusOr<RunTimes> GpuTask::State::TimeSets(const QueuedCandidate& candidate, double once) {
  const KernelCall& call = candidate.kernel();
  const GpuTimingLimits& limits = message_.gpu;
  std::vector<size_t> cold = DistinctBuffers(call);
  std::erase_if(cold, [&](size_t buffer) { return !IsCold(buffer); });
  int64_t cold_bytes = 0;
  for (size_t buffer : cold) cold_bytes += candidate.loaded.bytes[buffer];
  int64_t sets = std::min<int64_t>(queue_->ColdSets(cold_bytes), limits.max_sets);
  // A kernel that takes long reads more than a cache holds by itself.
  double affordable = limits.max_seconds / (2 * limits.replays * std::max(once, 1e-9));
  sets =
      std::clamp<int64_t>(sets, 1, std::max<int64_t>(2, std::llround(std::min(affordable, 1e6))));
  TCC_RETURN_IF_ERROR(MakeCopies(call, cold, sets));
  auto buffers_of = [&](size_t set) {
    return BuffersOn(call, [&](size_t buffer) {
      if (set == 0 || copy_of_[buffer] < 0) return DeviceMemory(buffer, kTimedSet);
      return copies_.get() + (static_cast<int64_t>(set) - 1) * copy_stride_ + copy_of_[buffer];
    });
  };
  return queue_->Time(candidate, buffers_of, sets, once, limits);
}

// Adds the times to the measurement of a candidate that was found right.
Measurement GpuTask::State::Time(const QueuedCandidate& candidate, Measurement checked) {
  StatusOr<RunTimes> timed = TimeSets(candidate, checked.seconds);
  if (!timed.ok()) return Lost(timed.status());
  checked.seconds = timed->min_seconds;
  checked.spread = (timed->median_seconds - timed->min_seconds) / timed->min_seconds;
  checked.calls = timed->runs;
  return checked;
}

// --- the two frames

Measurement GpuTask::State::RunReference(const QueuedCandidate& reference) {
  for (size_t set = 0; set < kValueSets; ++set) {
    Measurement launched = Launch(reference, set);
    if (launched.status != MeasureStatus::kOk) return launched;
    Status kept = KeepResults(operands_, set, Results());
    if (!kept.ok()) return FailureOf(kept);
  }
  StatusOr<double> once = TimeOnce(reference);
  if (!once.ok()) return Lost(once.status());
  reference_seconds_ = *once;
  return {.seconds = *once};
}

// Writes the inputs of a set by FillOperand or PerturbInput.
Status GpuTask::State::UploadInputs(size_t set, decltype(&FillOperand) write) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].role != OperandRole::kInput) continue;
    write(operands_[i], set, message_.epsilon, blocks_[set].image(i));
  }
  return blocks_[set].UploadAll();
}

// Runs the reference on perturbed inputs, and makes these what they were.
Measurement GpuTask::State::RunPerturbed(const QueuedCandidate& reference) {
  for (size_t set = 0; set < kValueSets; ++set) {
    Status uploaded = UploadInputs(set, PerturbInput);
    Measurement launched = uploaded.ok() ? Launch(reference, set) : Lost(uploaded);
    if (launched.status != MeasureStatus::kOk) return launched;
    NoteSensitivities(operands_, set, message_.epsilon, Results());
    uploaded = UploadInputs(set, FillOperand);
    if (!uploaded.ok()) return Lost(uploaded);
  }
  return {};
}

Measurement GpuTask::State::Open() {
  if (!IsGpuPolicy(message_.policy)) {
    return FailureOf(InvalidInput("policy '{}' is none of a GPU's", NameOf(message_.policy)));
  }
  StatusOr<std::unique_ptr<MeasuringQueue>> made_queue = make_queue_();
  if (!made_queue.ok()) return FailureOf(made_queue.status());
  queue_ = *std::move(made_queue);
  queue_->LimitRuns(kMaxFirstSeconds);
  StatusOr<QueuedCandidate> reference = queue_->Load(std::move(message_.artefact), message_.roles);
  if (!reference.ok()) return Lost(reference.status());
  Status made = MakeOperands(reference->loaded);
  if (!made.ok()) return Lost(made);
  Measurement run = Prepare(*reference);
  if (run.status == MeasureStatus::kOk) run = RunReference(*reference);
  run = Restored(std::move(run));
  if (run.status == MeasureStatus::kOk) {
    Measurement perturbed = RunPerturbed(*reference);
    run = perturbed.status == MeasureStatus::kOk ? Time(*reference, run) : perturbed;
  }
  if (end_ == MeasureStatus::kHang) new QueuedCandidate(*std::move(reference));
  return run;
}

Measurement GpuTask::State::Measure(MeasureMessage message) {
  if (!queue_) return FailureOf(InvalidInput("the task was not opened"));
  queue_->LimitRuns(std::max(message_.gpu.hang_seconds, kHangRatio * reference_seconds_));
  StatusOr<QueuedCandidate> candidate = queue_->Load(std::move(message.artefact), message_.roles);
  if (!candidate.ok()) return Lost(candidate.status());
  Measurement measured = CheckAndTime(*candidate, message.stop_beyond);
  // Whatever gives a hanging candidate's memory back would wait for its kernel.
  if (end_ == MeasureStatus::kHang) new QueuedCandidate(*std::move(candidate));
  return measured;
}

Measurement GpuTask::State::CheckAndTime(const QueuedCandidate& candidate, double stop_beyond) {
  Status fits = CheckOperands(operands_, candidate.loaded);
  if (!fits.ok()) return FailureOf(fits);
  Measurement checked = Prepare(candidate);
  if (checked.status == MeasureStatus::kOk) checked = CheckAll(candidate, stop_beyond);
  checked = Restored(std::move(checked));
  return checked.status == MeasureStatus::kOk ? Time(candidate, checked) : checked;
}

GpuTask::GpuTask(TaskMessage message, MakeMeasuringQueue make_queue)
    : state_(std::make_unique<State>(std::move(message), std::move(make_queue))) {}

GpuTask::~GpuTask() = default;

Measurement GpuTask::Open() {
  return state_->Open();
}

Measurement GpuTask::Measure(MeasureMessage message) {
  return state_->Measure(std::move(message));
}

MeasureStatus GpuTask::end() const {
  return state_->end();
}

}  // namespace tcc
