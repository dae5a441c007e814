#include "runtime/measure/task_operands.h"

#include "support/random.h"

namespace tcc {
namespace {

// Large inputs of the second set. Where floats have few bits, products of 1e3 and sums of them
// overflow in one order of operations and not in another.
constexpr double kExtreme = 1e3;
constexpr double kExtremeOfNarrow = 8;
constexpr double kNarrowEpsilon = 0x1p-11;

double ExtremeOf(DType dtype, size_t set, double epsilon) {
  if (set == 0) return 0;
  return dtype == kFloat16 || epsilon >= kNarrowEpsilon ? kExtremeOfNarrow : kExtreme;
}

// Returns the share of itself by which an input is moved: far more than its own rounding (2^-8 of a
// bfloat16) and that of results, and so little that smooth functions are nearly linear. A smaller
// one would loosen the bounds of functions that jump, which go with 1 / delta.
double DeltaOf(double epsilon) {
  return epsilon >= kNarrowEpsilon ? 0x1p-4 : 0x1p-8;
}

}  // namespace

std::vector<TaskOperand> OperandsOf(const TaskMessage& task, const LoadedCandidate& reference) {
  Random random(task.seed);
  std::vector<TaskOperand> operands(task.roles.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    TaskOperand& operand = operands[i];
    operand.name = "p" + std::to_string(i);
    operand.role = task.roles[i];
    operand.dtype = reference.dtypes[i];
    operand.bytes = reference.bytes[i];
    for (uint64_t& seed : operand.seeds) seed = random.Next();
  }
  return operands;
}

Status CheckOperands(std::span<const TaskOperand> operands, const LoadedCandidate& candidate) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const TaskOperand& operand = operands[i];
    if (candidate.dtypes[i] == operand.dtype && candidate.bytes[i] == operand.bytes) continue;
    return InvalidInput("{} is {} in {} bytes; the task's is {} in {}", operand.name,
                        ToString(candidate.dtypes[i]), candidate.bytes[i], ToString(operand.dtype),
                        operand.bytes);
  }
  return OkStatus();
}

void FillOperand(const TaskOperand& operand, size_t set, double epsilon, std::span<uint8_t> bytes) {
  FillValues(operand.dtype, bytes, operand.seeds[set], ExtremeOf(operand.dtype, set, epsilon));
}

Status KeepResults(std::span<TaskOperand> operands, size_t set, const OperandBytes& bytes_of) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role != OperandRole::kOutput) continue;
    TCC_ASSIGN_OR_RETURN(operands[i].expected[set],
                         KeepResult(operands[i].dtype, bytes_of(i), "results of the reference"));
  }
  return OkStatus();
}

void PerturbInput(const TaskOperand& operand, size_t set, double epsilon,
                  std::span<uint8_t> bytes) {
  PerturbValues(operand.dtype, bytes, operand.seeds[set], DeltaOf(epsilon));
}

void NoteSensitivities(std::span<TaskOperand> operands, size_t set, double epsilon,
                       const OperandBytes& bytes_of) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role != OperandRole::kOutput) continue;
    NoteSensitivity(operands[i].expected[set], bytes_of(i), DeltaOf(epsilon));
  }
}

Measurement CompareResults(std::span<const TaskOperand> operands, size_t set,
                           const ErrorBound& bound, const OperandBytes& bytes_of) {
  Measurement worst;
  for (size_t i = 0; i < operands.size(); ++i) {
    const TaskOperand& operand = operands[i];
    if (operand.role != OperandRole::kOutput) continue;
    const ExpectedResult& expected = operand.expected[set];
    std::span<const uint8_t> got = bytes_of(i);
    ResultError found = CompareResult(expected, got, bound);
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

Measurement CheckTwice(const CheckedRun& run) {
  Measurement launched = run.launch();
  if (launched.status != MeasureStatus::kOk) return launched;
  Measurement checked = run.compare();
  checked.seconds = launched.seconds;
  if (checked.status == MeasureStatus::kOk) return checked;
  checked.seconds = 0;
  if (run.launch().status != MeasureStatus::kOk) return checked;
  if (run.compare().status == MeasureStatus::kOk) {
    checked.status = MeasureStatus::kFlaky;
    checked.message += "; right when run again";
  }
  return checked;
}

Measurement Failure(MeasureStatus status, std::string message) {
  return {.status = status, .message = std::move(message)};
}

Measurement FailureOf(const Status& status) {
  bool is_memory = absl::IsResourceExhausted(status);
  return Failure(is_memory ? MeasureStatus::kOutOfMemory : MeasureStatus::kLaunchFailed,
                 Message(status));
}

Measurement Slow(Measurement right, double stop_beyond) {
  right.status = MeasureStatus::kSlow;
  right.calls = 1;
  right.message =
      fmt::format("took {:.3g} s; not timed beyond {:.3g} s", right.seconds, stop_beyond);
  return right;
}

}  // namespace tcc
