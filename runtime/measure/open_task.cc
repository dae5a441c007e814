#include "runtime/measure/open_task.h"

#include <algorithm>
#include <optional>

#include "runtime/measure/instruction_counts.h"
#include "runtime/measure/kernel_operands.h"
#include "runtime/measure/kernel_timing.h"
#include "runtime/measure/loaded_candidate.h"
#include "runtime/measure/task_operands.h"
#include "support/integer_division.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

constexpr int64_t kRotatedBytes = int64_t{64} << 20;
constexpr int64_t kMaxCopies = 64;

constexpr double kFarBeyond = 2;

// Returns what the device's simulator says that a call of the kernel takes; nullopt: the clock
// tells.
std::optional<double> SimulatedSeconds(const LoadedCandidate& candidate) {
  const Module& module = candidate.module;
  return module.device().SimulatedSeconds(module.kernels(), candidate.calls.back().kernel);
}

// Memory that kernels are checked on, and copies that they are timed on.
struct OperandMemory {
  GuardedMemory checked;
  OperandCopies copies;
};

// The memory of an operand, with that of an input's second values.
struct HostOperand {
  OperandMemory memory;
  GuardedMemory second;
  uint64_t hashes[kValueSets] = {};
};

}  // namespace

class OpenTask::State {
 public:
  State(TaskMessage message, std::shared_ptr<ThreadPool> pool)
      : message_(std::move(message)), pool_(std::move(pool)) {}

  Measurement Open(double canary);
  Measurement Measure(MeasureMessage message, double canary);

 private:
  Status MakeOperands(const LoadedCandidate& reference);
  GuardedMemory& CheckedMemory(size_t operand, size_t set);

  // Everything up to the timing; statuses other than kOk end the measuring.
  Measurement Prepare(const LoadedCandidate& candidate);
  Status FindCounters(const LoadedCandidate& reference);
  Measurement Launch(const LoadedCandidate& candidate, size_t set);
  Measurement Check(const LoadedCandidate& candidate, size_t set);
  OperandBytes Results();
  Measurement CheckAll(const LoadedCandidate& candidate, double stop_beyond);
  Measurement RunReference(const LoadedCandidate& reference);
  Measurement RunPerturbed(const LoadedCandidate& reference);
  std::string DamageOf(size_t set);
  std::string RestoreOperands();

  Measurement Time(const LoadedCandidate& candidate, Measurement checked, double canary);
  Status MakeCopies(const LoadedCandidate& candidate, int64_t count);
  int64_t CopiesFor(const KernelCall& call) const;

  OperandMemory& MemoryOf(size_t buffer);
  std::vector<void*> CheckedArguments(const KernelCall& call, size_t set);
  std::vector<void*> CopiedArguments(const KernelCall& call, int64_t copy);

  TaskMessage message_;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<TaskOperand> operands_;
  std::vector<HostOperand> host_;        // by operand
  std::vector<OperandMemory> prepared_;  // of the latest candidate; former ones' at the end
  size_t prepared_count_ = 0;
  const EmulatorCounters* counters_ = nullptr;  // null: calls are timed by the clock
  const CoreRates* core_ = nullptr;             // where they are counted
};

GuardedMemory& OpenTask::State::CheckedMemory(size_t operand, size_t set) {
  HostOperand& host = host_[operand];
  return set > 0 && operands_[operand].HasSet(set) ? host.second : host.memory.checked;
}

Status OpenTask::State::MakeOperands(const LoadedCandidate& reference) {
  operands_ = OperandsOf(message_, reference);
  host_.resize(operands_.size());
  for (size_t i = 0; i < operands_.size(); ++i) {
    const TaskOperand& operand = operands_[i];
    for (size_t set = 0; set < kValueSets; ++set) {
      if (!operand.HasSet(set)) continue;
      GuardedMemory& memory = CheckedMemory(i, set);
      TCC_RETURN_IF_ERROR(memory.Reserve(operand.bytes, i, "operand " + operand.name));
      if (operand.role == OperandRole::kOutput) continue;
      FillOperand(operand, set, message_.epsilon, memory.bytes());
      host_[i].hashes[set] = HashOf(memory.bytes());
    }
  }
  return OkStatus();
}

OperandMemory& OpenTask::State::MemoryOf(size_t buffer) {
  return buffer < operands_.size() ? host_[buffer].memory : prepared_[buffer - operands_.size()];
}

std::vector<void*> OpenTask::State::CheckedArguments(const KernelCall& call, size_t set) {
  std::vector<void*> arguments;
  for (size_t buffer : call.buffers) {
    GuardedMemory& memory =
        buffer < operands_.size() ? CheckedMemory(buffer, set) : MemoryOf(buffer).checked;
    arguments.push_back(memory.bytes().data());
  }
  return arguments;
}

std::vector<void*> OpenTask::State::CopiedArguments(const KernelCall& call, int64_t copy) {
  std::vector<void*> arguments;
  for (size_t buffer : call.buffers) arguments.push_back(MemoryOf(buffer).copies.at(copy));
  return arguments;
}

// --- checking

// Runs the prepare kernels. The memory that they fill begins as zeros, as it does in an artefact.
Measurement OpenTask::State::Prepare(const LoadedCandidate& candidate) {
  prepared_count_ = candidate.bytes.size() - operands_.size();
  prepared_.resize(std::max(prepared_.size(), prepared_count_));
  for (size_t i = 0; i < prepared_count_; ++i) {
    size_t buffer = operands_.size() + i;
    GuardedMemory& memory = prepared_[i].checked;
    Status reserved = memory.Reserve(candidate.bytes[buffer], buffer, "a prepared operand");
    if (!reserved.ok()) return FailureOf(reserved);
    std::ranges::fill(memory.bytes(), uint8_t{0});
  }
  std::span<const KernelCall> calls = candidate.calls;
  for (const KernelCall& call : calls.first(calls.size() - 1)) {
    Status launched = LaunchCall(candidate, call, CheckedArguments(call, kTimedSet));
    if (!launched.ok()) return FailureOf(Annotate(launched, "prepare kernel"));
  }
  return {};
}

// Says which operand the kernel wrote beside, "" for none.
std::string OpenTask::State::DamageOf(size_t set) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    std::string_view side = CheckedMemory(i, set).DamagedSide();
    if (!side.empty()) return fmt::format("wrote right {} operand {}", side, operands_[i].name);
  }
  for (size_t i = 0; i < prepared_count_; ++i) {
    std::string_view side = prepared_[i].checked.DamagedSide();
    if (!side.empty()) return fmt::format("wrote right {} prepared operand {}", side, i);
  }
  return "";
}

Status OpenTask::State::FindCounters(const LoadedCandidate& reference) {
  TCC_ASSIGN_OR_RETURN(counters_, EmulatorCounters::OfProcess());
  const std::string& target = reference.module.artefact().target;
  core_ = FindCore(target);
  if (counters_ == nullptr || core_ != nullptr) return OkStatus();
  return Unsupported("instructions are counted, but no core is known for target '{}'", target);
}

// One call of the kernel; `seconds` of the result is its time.
Measurement OpenTask::State::Launch(const LoadedCandidate& candidate, size_t set) {
  for (size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].role != OperandRole::kOutput) continue;
    std::ranges::fill(host_[i].memory.checked.bytes(), uint8_t{0xff});
  }
  const KernelCall& call = candidate.calls.back();
  std::vector<void*> arguments = CheckedArguments(call, set);
  const InstructionCounts before = counters_ ? counters_->Now() : InstructionCounts();
  Stopwatch stopwatch;
  Status launched = LaunchCall(candidate, call, arguments);
  double taken = stopwatch.Seconds();
  if (counters_) taken = CyclesOf(counters_->Now() - before, *core_) / core_->hertz;
  taken = SimulatedSeconds(candidate).value_or(taken);
  if (!launched.ok()) return FailureOf(launched);
  std::string damage = DamageOf(set);
  if (!damage.empty()) return Failure(MeasureStatus::kWrong, damage);
  Measurement timed;
  timed.seconds = taken;
  return timed;
}

OperandBytes OpenTask::State::Results() {
  return [this](size_t operand) { return host_[operand].memory.checked.bytes(); };
}

Measurement OpenTask::State::Check(const LoadedCandidate& candidate, size_t set) {
  const ErrorBound bound{.terms = message_.terms, .epsilon = message_.epsilon};
  return CheckTwice({.launch = [&] { return Launch(candidate, set); },
                     .compare = [&] { return CompareResults(operands_, set, bound, Results()); }});
}

// One that is right on the first values but takes more than twice the bound runs no more: on these
// machines nothing makes a run that unlucky. One that is in between runs once more.
Measurement OpenTask::State::CheckAll(const LoadedCandidate& candidate, double stop_beyond) {
  Measurement first = Check(candidate, 0);
  if (first.status != MeasureStatus::kOk) return first;
  if (stop_beyond > 0 && first.seconds > kFarBeyond * stop_beyond) {
    return Slow(std::move(first), stop_beyond);
  }
  Measurement second = Check(candidate, 1);
  second.error = std::max(first.error, second.error);
  if (second.status != MeasureStatus::kOk) return second;

  // Denormals may make the second run slow.
  Measurement right = {.seconds = std::min(first.seconds, second.seconds), .error = second.error};
  if (stop_beyond <= 0 || right.seconds <= stop_beyond) return right;
  Measurement again = Launch(candidate, kTimedSet);
  if (again.status != MeasureStatus::kOk) return again;
  right.seconds = std::min(first.seconds, again.seconds);
  return right.seconds <= stop_beyond ? right : Slow(std::move(right), stop_beyond);
}

// Makes operands what they were. Returns the name of an input that was written, "" for none.
std::string OpenTask::State::RestoreOperands() {
  std::string written;
  for (size_t i = 0; i < operands_.size(); ++i) {
    const TaskOperand& operand = operands_[i];
    for (size_t set = 0; set < kValueSets; ++set) {
      if (!operand.HasSet(set)) continue;
      GuardedMemory& memory = CheckedMemory(i, set);
      memory.RepairPattern();
      if (operand.role == OperandRole::kOutput) continue;
      if (HashOf(memory.bytes()) == host_[i].hashes[set]) continue;
      FillOperand(operand, set, message_.epsilon, memory.bytes());
      if (written.empty()) written = operand.name;
    }
  }
  return written;
}

// --- timing

// Copies of the operands of a call that take 64 MiB together.
int64_t OpenTask::State::CopiesFor(const KernelCall& call) const {
  if (message_.policy == MeasurePolicy::kWarm) return 1;
  int64_t bytes = 0;
  for (size_t i = 0; i < call.buffers.size(); ++i) {
    bool is_first = std::find(call.buffers.begin(), call.buffers.begin() + i, call.buffers[i]) ==
                    call.buffers.begin() + i;
    if (is_first) bytes += call.bytes[i];
  }
  bytes = std::max<int64_t>(bytes, 1);
  return std::clamp<int64_t>(CeilDivision(kRotatedBytes, bytes), 1, kMaxCopies);
}

// Task operands keep their copies from one candidate to the next, as timed kernels are right ones.
Status OpenTask::State::MakeCopies(const LoadedCandidate& candidate, int64_t count) {
  std::vector<size_t> buffers = candidate.calls.back().buffers;
  std::ranges::sort(buffers);
  buffers.erase(std::ranges::unique(buffers).begin(), buffers.end());
  for (size_t buffer : buffers) {
    OperandMemory& memory = MemoryOf(buffer);
    if (buffer < operands_.size() && memory.copies.count() >= count) continue;
    TCC_RETURN_IF_ERROR(
        memory.copies.Fill(memory.checked.bytes(), count, buffer, "copies of an operand"));
  }
  return OkStatus();
}

// Adds the times to the measurement of a candidate that was found right.
Measurement OpenTask::State::Time(const LoadedCandidate& candidate, Measurement checked,
                                  double canary) {
  checked.canary = canary;
  if (message_.policy == MeasurePolicy::kInPlace) return checked;
  if (counters_ || SimulatedSeconds(candidate)) {
    checked.calls = 1;
    return checked;
  }
  const KernelCall& call = candidate.calls.back();
  int64_t count = CopiesFor(call);
  std::vector<std::vector<void*>> arguments;
  if (count > 1) {
    Status made = MakeCopies(candidate, count);
    if (!made.ok()) return FailureOf(made);
    for (int64_t i = 0; i < count; ++i) arguments.push_back(CopiedArguments(call, i));
  } else {
    arguments.push_back(CheckedArguments(call, kTimedSet));
  }
  StatusOr<KernelTiming> timing = TimeKernel(
      count,
      [&](int64_t copy) {
        return LaunchCall(candidate, call, arguments[static_cast<size_t>(copy)]);
      },
      checked.seconds);
  if (!timing.ok()) return FailureOf(timing.status());
  checked.seconds = timing->seconds;
  checked.spread = timing->spread;
  checked.calls = timing->calls;
  return checked;
}

// --- the two frames

Measurement OpenTask::State::RunReference(const LoadedCandidate& reference) {
  Measurement run;
  for (size_t set = 0; set < kValueSets; ++set) {
    Measurement launched = Launch(reference, set);
    if (launched.status != MeasureStatus::kOk) return launched;
    run.seconds = set == 0 ? launched.seconds : std::min(run.seconds, launched.seconds);
    Status kept = KeepResults(operands_, set, Results());
    if (!kept.ok()) return FailureOf(kept);
  }
  return run;
}

// Runs the reference on perturbed inputs, and makes these what they were.
Measurement OpenTask::State::RunPerturbed(const LoadedCandidate& reference) {
  for (size_t set = 0; set < kValueSets; ++set) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].role != OperandRole::kInput) continue;
      PerturbInput(operands_[i], set, message_.epsilon, CheckedMemory(i, set).bytes());
    }
    Measurement launched = Launch(reference, set);
    if (launched.status != MeasureStatus::kOk) return launched;
    NoteSensitivities(operands_, set, message_.epsilon, Results());
  }
  RestoreOperands();
  return {};
}

Measurement OpenTask::State::Open(double canary) {
  StatusOr<LoadedCandidate> reference =
      LoadCandidate(std::move(message_.artefact), message_.roles, {.pool = pool_});
  if (!reference.ok()) return FailureOf(reference.status());
  Status made = MakeOperands(*reference);
  if (made.ok()) made = FindCounters(*reference);
  if (!made.ok()) return FailureOf(made);
  Measurement run = Prepare(*reference);
  if (run.status == MeasureStatus::kOk) run = RunReference(*reference);
  if (run.status != MeasureStatus::kOk) return run;
  std::string written = RestoreOperands();
  if (!written.empty()) return Failure(MeasureStatus::kWrong, "wrote its input " + written);
  Measurement perturbed = RunPerturbed(*reference);
  if (perturbed.status != MeasureStatus::kOk) return perturbed;
  return Time(*reference, run, canary);
}

Measurement OpenTask::State::Measure(MeasureMessage message, double canary) {
  StatusOr<LoadedCandidate> candidate =
      LoadCandidate(std::move(message.artefact), message_.roles, {.pool = pool_});
  if (!candidate.ok()) return FailureOf(candidate.status());
  Status fits = CheckOperands(operands_, *candidate);
  if (!fits.ok()) return FailureOf(fits);
  Measurement checked = Prepare(*candidate);
  if (checked.status == MeasureStatus::kOk) checked = CheckAll(*candidate, message.stop_beyond);
  std::string written = RestoreOperands();
  if (!written.empty()) return Failure(MeasureStatus::kWrong, "wrote its input " + written);
  if (checked.status != MeasureStatus::kOk) return checked;
  return Time(*candidate, checked, canary);
}

OpenTask::OpenTask(TaskMessage message, std::shared_ptr<ThreadPool> pool)
    : state_(std::make_unique<State>(std::move(message), std::move(pool))) {}

OpenTask::~OpenTask() = default;

Measurement OpenTask::Open(double canary) {
  return state_->Open(canary);
}

Measurement OpenTask::Measure(MeasureMessage message, double canary) {
  return state_->Measure(std::move(message), canary);
}

}  // namespace tcc
