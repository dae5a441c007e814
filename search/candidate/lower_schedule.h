#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lower/pipeline.h"
#include "schedule/space/schedule.h"
#include "support/target.h"

namespace tcc {

// Fills a constant that a kernel reads in place of the model's own; run once, when the model
// is linked.
struct PrepareStages {
  std::string key;                // of the function; equal ones need be compiled once
  std::vector<size_t> constants;  // parameters of the tensor function that it reads
  int64_t bytes = 0;              // of the result
  Function lowered;               // its parameters are the constants, then the result
};

// A parameter of a lowered kernel: one of the tensor function's, or what a prepare function gives.
struct KernelOperand {
  enum class Kind : uint8_t { kParameter, kPrepared };
  Kind kind = Kind::kParameter;
  size_t index = 0;
};

// A tensor function as a schedule makes it run.
struct LoweredKernel {
  Function scheduled;
  Function lowered;                     // without what is prepared
  std::vector<KernelOperand> operands;  // of its parameters
  std::vector<PrepareStages> prepare;
};

// Replays the schedule, whose sizes are all decided, and lowers the result. Errors: the step that
// is illegal or beyond the target's limits (ReplayFor); a pass's, with options.verify; Cancelled.
StatusOr<LoweredKernel> LowerSchedule(const Function& tensor, const Schedule& schedule,
                                      const Target& target, const PipelineOptions& options = {});

// SHA-256 of the lowered functions' keys, prepare functions first: schedules that lower alike have
// one.
std::string LoweredKey(const LoweredKernel& kernel);

}  // namespace tcc
