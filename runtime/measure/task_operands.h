#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/kernel_operands.h"
#include "runtime/measure/loaded_candidate.h"
#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/measurement.h"

// The operands of an open task, wherever they lie: the values that they hold, the reference's
// results, and the verdict on a candidate's.
namespace tcc {

// The number of value sets that a candidate is checked on: usual numbers, then extreme ones.
inline constexpr size_t kValueSets = 2;
inline constexpr size_t kTimedSet = 0;

// A parameter of the task's function. Inputs have values of their own in the second set.
struct TaskOperand {
  std::string name;  // "p0"
  OperandRole role = OperandRole::kInput;
  DType dtype;
  int64_t bytes = 0;
  uint64_t seeds[kValueSets] = {};
  ExpectedResult expected[kValueSets] = {};  // of outputs: what the reference made of each set

  bool HasSet(size_t set) const { return set == 0 || role == OperandRole::kInput; }
};

// Returns the task's operands, whose types and sizes are those of the reference.
std::vector<TaskOperand> OperandsOf(const TaskMessage& task, const LoadedCandidate& reference);

// Fails with InvalidArgument where a candidate's parameters have other types or sizes.
Status CheckOperands(std::span<const TaskOperand> operands, const LoadedCandidate& candidate);

// Writes the values of an input or a constant. `epsilon` is the task's.
void FillOperand(const TaskOperand& operand, size_t set, double epsilon, std::span<uint8_t> bytes);

// Returns the bytes of an operand's current value, by the operand's number.
using OperandBytes = std::function<std::span<const uint8_t>(size_t operand)>;

// Keeps the outputs as what candidates have to compute from the set. ResourceExhausted: no memory.
Status KeepResults(std::span<TaskOperand> operands, size_t set, const OperandBytes& bytes_of);

// Moves each float of an input, which holds the set, a little up or down. Constants stay as they
// are: prepared operands depend on them, and moving the inputs moves every product of a sum.
void PerturbInput(const TaskOperand& operand, size_t set, double epsilon, std::span<uint8_t> bytes);

// Learns how sensitive the outputs are: the reference has run on perturbed inputs.
void NoteSensitivities(std::span<TaskOperand> operands, size_t set, double epsilon,
                       const OperandBytes& bytes_of);

// Compares the outputs with the reference's. kOk or kWrong; `error` is that of the worst element.
Measurement CompareResults(std::span<const TaskOperand> operands, size_t set,
                           const ErrorBound& bound, const OperandBytes& bytes_of);

// A run of a candidate on one value set: `launch` leaves its seconds in the measurement, `compare`
// judges the outputs.
struct CheckedRun {
  std::function<Measurement()> launch, compare;
};
// Runs and compares. A wrong candidate runs once more, to tell whether it always is: kFlaky.
Measurement CheckTwice(const CheckedRun& run);

Measurement Failure(MeasureStatus status, std::string message);
// Returns kOutOfMemory for ResourceExhausted, kLaunchFailed for every other error.
Measurement FailureOf(const Status& status);
// Makes a candidate that was found right one that takes longer than is asked for.
Measurement Slow(Measurement right, double stop_beyond);

}  // namespace tcc
