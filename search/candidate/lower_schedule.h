#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lower/pipeline.h"
#include "schedule/space/schedule.h"
#include "support/target.h"

namespace tcc {

// A function that computes a constant which a kernel reads instead of the model's own; run once,
// when the model is linked.
struct PrepareStages {
  std::string key;                // the function's key; functions with equal keys are compiled once
  std::vector<size_t> constants;  // the parameters of the tensor function that it reads
  int64_t bytes = 0;              // the size of the result
  Function lowered;               // its parameters are the constants, then the result
};

// A parameter of a lowered kernel: a parameter of the tensor function or the result of a prepare
// function.
struct KernelOperand {
  enum class Kind : uint8_t { kParameter, kPrepared };
  Kind kind = Kind::kParameter;
  size_t index = 0;
};

// A tensor function, scheduled and lowered.
struct LoweredKernel {
  Function scheduled;
  Function lowered;                     // without the prepare functions
  std::vector<KernelOperand> operands;  // one per parameter
  std::vector<PrepareStages> prepare;
};

// Replays the schedule, whose sizes are all decided, and lowers the result. Errors: the step that
// is illegal or beyond the target's limits (ReplayFor); a pass's error, with options.verify;
// Cancelled.
StatusOr<LoweredKernel> LowerSchedule(const Function& tensor, const Schedule& schedule,
                                      const Target& target, const PipelineOptions& options = {});

// Returns the SHA-256 of the lowered functions' keys, prepare functions first: schedules that lower
// to equal code have equal keys.
std::string LoweredKey(const LoweredKernel& kernel);

}  // namespace tcc
