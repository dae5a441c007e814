#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lower/pipeline.h"

namespace tcc {

// A function that computes a constant which a kernel reads instead of the model's own; run once,
// when the model is linked.
struct PrepareStages {
  std::string key;                // the function's key; functions with equal keys are compiled once
  std::vector<size_t> constants;  // the parameters of the scheduled one that it reads
  int64_t bytes = 0;              // the size of the result
  Function lowered;               // its parameters are the constants, then the result
};

// A parameter of a lowered kernel: one of the scheduled function, whose parameters are those of the
// tensor function, or the result of a prepare function.
struct KernelOperand {
  enum class Kind : uint8_t { kParameter, kPrepared };
  Kind kind = Kind::kParameter;
  size_t index = 0;
};

// A function, scheduled and lowered.
struct LoweredKernel {
  Function scheduled;
  Function lowered;                     // without the prepare functions
  std::vector<KernelOperand> operands;  // one per parameter
  std::vector<PrepareStages> prepare;
};

// Lowers a function (kScheduled, no size free) and what prepares its constants. Errors: a pass's,
// with options.verify; Cancelled.
StatusOr<LoweredKernel> LowerKernel(const Function& scheduled, const PipelineOptions& options = {});

// Returns the SHA-256 of the lowered functions' keys, prepare functions first: schedules that lower
// to equal code have equal keys.
std::string LoweredKey(const LoweredKernel& kernel);

}  // namespace tcc
