#include "runtime/measure/open_task.h"

#include <algorithm>

#include "runtime/measure/kernel_operands.h"
#include "runtime/measure/kernel_timing.h"
#include "runtime/measure/loaded_candidate.h"
#include "support/integer_division.h"
#include "support/random.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

constexpr int64_t kRotatedBytes = int64_t{64} << 20;
constexpr int64_t kMaxCopies = 64;

// Values of inputs that a candidate is checked on.
constexpr size_t kValueSets = 2;
constexpr size_t kTimedSet = 0;

// Large inputs of the second set. Where floats have few bits, products of 1e3 and sums of them
// overflow in one order of operations and not in another.
constexpr double kExtreme = 1e3;
constexpr double kExtremeOfNarrow = 8;
constexpr double kNarrowEpsilon = 0x1p-11;

constexpr double kFarBeyond = 2;

// Memory that kernels are checked on, and copies that they are timed on.
struct OperandMemory {
  GuardedMemory checked;
  OperandCopies copies;
};

// A parameter. Inputs have values of their own in the second set.
struct Operand {
  std::string name;
  OperandRole role = OperandRole::kInput;
  DType dtype;
  OperandMemory memory;
  GuardedMemory second;
  uint64_t hashes[kValueSets] = {};
  uint64_t seeds[kValueSets] = {};
  ExpectedResult expected[kValueSets];

  bool HasSet(size_t set) const { return set == 0 || role == OperandRole::kInput; }
  GuardedMemory& MemoryOf(size_t set) { return HasSet(set) && set > 0 ? second : memory.checked; }
};

Measurement Failure(MeasureStatus status, std::string message) {
  return {.status = status, .message = std::move(message)};
}

// A candidate that was found right and takes longer than is asked for.
Measurement Slow(Measurement right, double stop_beyond) {
  right.status = MeasureStatus::kSlow;
  right.calls = 1;
  right.message =
      fmt::format("took {:.3g} s; not timed beyond {:.3g} s", right.seconds, stop_beyond);
  return right;
}

Measurement FailureOf(const Status& status) {
  bool is_memory = absl::IsResourceExhausted(status);
  return Failure(is_memory ? MeasureStatus::kOutOfMemory : MeasureStatus::kLaunchFailed,
                 Message(status));
}

}  // namespace

class OpenTask::State {
 public:
  State(TaskMessage message, std::shared_ptr<ThreadPool> pool)
      : message_(std::move(message)), pool_(std::move(pool)) {}

  Measurement Open(double canary);
  Measurement Measure(MeasureMessage message, double canary);

 private:
  Status MakeOperands(const LoadedCandidate& reference);
  Status CheckOperands(const LoadedCandidate& candidate) const;
  void FillSet(Operand& operand, size_t set);
  double Extreme() const;

  // Everything up to the timing; statuses other than kOk end the measuring.
  Measurement Prepare(const LoadedCandidate& candidate);
  Measurement Launch(const LoadedCandidate& candidate, size_t set);
  Measurement Compare(size_t set) const;
  Measurement Check(const LoadedCandidate& candidate, size_t set);
  Measurement CheckAll(const LoadedCandidate& candidate, double stop_beyond);
  Measurement KeepResults(const LoadedCandidate& reference);
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
  std::vector<Operand> operands_;
  std::vector<OperandMemory> prepared_;  // of the latest candidate; former ones' at the end
  size_t prepared_count_ = 0;
};

double OpenTask::State::Extreme() const {
  return message_.epsilon >= kNarrowEpsilon ? kExtremeOfNarrow : kExtreme;
}

void OpenTask::State::FillSet(Operand& operand, size_t set) {
  double extreme = set == 0 ? 0 : operand.dtype == kFloat16 ? kExtremeOfNarrow : Extreme();
  FillValues(operand.dtype, operand.MemoryOf(set).bytes(), operand.seeds[set], extreme);
}

Status OpenTask::State::MakeOperands(const LoadedCandidate& reference) {
  Random random(message_.seed);
  operands_.resize(message_.roles.size());
  for (size_t i = 0; i < operands_.size(); ++i) {
    Operand& operand = operands_[i];
    operand.name = "p" + std::to_string(i);
    operand.role = message_.roles[i];
    operand.dtype = reference.dtypes[i];
    for (size_t set = 0; set < kValueSets; ++set) {
      operand.seeds[set] = random.Next();
      if (!operand.HasSet(set)) continue;
      GuardedMemory& memory = operand.MemoryOf(set);
      TCC_RETURN_IF_ERROR(memory.Reserve(reference.bytes[i], i, "operand " + operand.name));
      if (operand.role == OperandRole::kOutput) continue;
      FillSet(operand, set);
      operand.hashes[set] = HashOf(memory.bytes());
    }
  }
  return OkStatus();
}

Status OpenTask::State::CheckOperands(const LoadedCandidate& candidate) const {
  for (size_t i = 0; i < operands_.size(); ++i) {
    const Operand& operand = operands_[i];
    int64_t bytes = std::ssize(operand.memory.checked.bytes());
    if (candidate.dtypes[i] == operand.dtype && candidate.bytes[i] == bytes) continue;
    return InvalidInput("{} is {} in {} bytes; the task's is {} in {}", operand.name,
                        ToString(candidate.dtypes[i]), candidate.bytes[i], ToString(operand.dtype),
                        bytes);
  }
  return OkStatus();
}

OperandMemory& OpenTask::State::MemoryOf(size_t buffer) {
  return buffer < operands_.size() ? operands_[buffer].memory
                                   : prepared_[buffer - operands_.size()];
}

std::vector<void*> OpenTask::State::CheckedArguments(const KernelCall& call, size_t set) {
  std::vector<void*> arguments;
  for (size_t buffer : call.buffers) {
    GuardedMemory& memory =
        buffer < operands_.size() ? operands_[buffer].MemoryOf(set) : MemoryOf(buffer).checked;
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
  for (Operand& operand : operands_) {
    std::string_view side = operand.MemoryOf(set).DamagedSide();
    if (!side.empty()) return fmt::format("wrote right {} operand {}", side, operand.name);
  }
  for (size_t i = 0; i < prepared_count_; ++i) {
    std::string_view side = prepared_[i].checked.DamagedSide();
    if (!side.empty()) return fmt::format("wrote right {} prepared operand {}", side, i);
  }
  return "";
}

// One call of the kernel; `seconds` of the result is its time.
Measurement OpenTask::State::Launch(const LoadedCandidate& candidate, size_t set) {
  for (Operand& operand : operands_) {
    if (operand.role != OperandRole::kOutput) continue;
    std::ranges::fill(operand.memory.checked.bytes(), uint8_t{0xff});
  }
  const KernelCall& call = candidate.calls.back();
  std::vector<void*> arguments = CheckedArguments(call, set);
  Stopwatch stopwatch;
  Status launched = LaunchCall(candidate, call, arguments);
  double taken = stopwatch.Seconds();
  if (!launched.ok()) return FailureOf(launched);
  std::string damage = DamageOf(set);
  if (!damage.empty()) return Failure(MeasureStatus::kWrong, damage);
  Measurement timed;
  timed.seconds = taken;
  return timed;
}

// Holds the results against the reference's.
Measurement OpenTask::State::Compare(size_t set) const {
  Measurement worst;
  for (const Operand& operand : operands_) {
    if (operand.role != OperandRole::kOutput) continue;
    const ExpectedResult& expected = operand.expected[set];
    std::span<const uint8_t> got = operand.memory.checked.bytes();
    ResultError found =
        CompareResult(expected, got, {.terms = message_.terms, .epsilon = message_.epsilon});
    if (found.error > 1 && found.error > worst.error) {
      worst.status = MeasureStatus::kWrong;
      worst.message =
          fmt::format("{}[{}] is {}; expected {} ({:.3g} times the bound, on the {} values)",
                      operand.name, found.element, ElementText(operand.dtype, got, found.element),
                      ElementText(operand.dtype, expected.bytes, found.element), found.error,
                      set == 0 ? "first" : "second");
    }
    worst.error = std::max(worst.error, found.error);
  }
  return worst;
}

// Runs the kernel and compares; a wrong one runs once more, to tell whether it always is.
Measurement OpenTask::State::Check(const LoadedCandidate& candidate, size_t set) {
  Measurement launched = Launch(candidate, set);
  if (launched.status != MeasureStatus::kOk) return launched;
  Measurement checked = Compare(set);
  checked.seconds = launched.seconds;
  if (checked.status == MeasureStatus::kOk) return checked;
  checked.seconds = 0;
  if (Launch(candidate, set).status != MeasureStatus::kOk) return checked;
  if (Compare(set).status == MeasureStatus::kOk) {
    checked.status = MeasureStatus::kFlaky;
    checked.message += "; right when run again";
  }
  return checked;
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
  for (Operand& operand : operands_) {
    for (size_t set = 0; set < kValueSets; ++set) {
      if (!operand.HasSet(set)) continue;
      GuardedMemory& memory = operand.MemoryOf(set);
      memory.RepairPattern();
      if (operand.role == OperandRole::kOutput) continue;
      if (HashOf(memory.bytes()) == operand.hashes[set]) continue;
      FillSet(operand, set);
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

Measurement OpenTask::State::KeepResults(const LoadedCandidate& reference) {
  Measurement run;
  for (size_t set = 0; set < kValueSets; ++set) {
    Measurement launched = Launch(reference, set);
    if (launched.status != MeasureStatus::kOk) return launched;
    run.seconds = set == 0 ? launched.seconds : std::min(run.seconds, launched.seconds);
    for (Operand& operand : operands_) {
      if (operand.role != OperandRole::kOutput) continue;
      StatusOr<ExpectedResult> kept =
          KeepResult(operand.dtype, operand.memory.checked.bytes(), "results of the reference");
      if (!kept.ok()) return FailureOf(kept.status());
      operand.expected[set] = *std::move(kept);
    }
  }
  return run;
}

Measurement OpenTask::State::Open(double canary) {
  StatusOr<LoadedCandidate> reference =
      LoadCandidate(std::move(message_.artefact), message_.roles, pool_);
  if (!reference.ok()) return FailureOf(reference.status());
  Status made = MakeOperands(*reference);
  if (!made.ok()) return FailureOf(made);
  Measurement run = Prepare(*reference);
  if (run.status == MeasureStatus::kOk) run = KeepResults(*reference);
  if (run.status != MeasureStatus::kOk) return run;
  std::string written = RestoreOperands();
  if (!written.empty()) return Failure(MeasureStatus::kWrong, "wrote its input " + written);
  return Time(*reference, run, canary);
}

Measurement OpenTask::State::Measure(MeasureMessage message, double canary) {
  StatusOr<LoadedCandidate> candidate =
      LoadCandidate(std::move(message.artefact), message_.roles, pool_);
  if (!candidate.ok()) return FailureOf(candidate.status());
  Status fits = CheckOperands(*candidate);
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
