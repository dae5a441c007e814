#pragma once

#include <functional>
#include <vector>

#include "runtime/executor/executor.h"
#include "runtime/measure/instruction_counts.h"
#include "support/core_rates.h"

namespace tcc {

// The instructions that a kernel executes in one run of a model.
struct CountedKernel {
  int64_t calls = 0;
  InstructionCounts counts;
};

// Runs the model once and counts, by the kernels' places in the metadata. Error: the run's;
// Unavailable if the device counts nothing.
StatusOr<std::vector<CountedKernel>> CountInstructions(Executor& executor,
                                                       const std::function<Status()>& run);

// Prints a table, the kernels that take most of the core's cycles first, or JSON.
void PrintInstructions(const Artefact& artefact, const std::vector<CountedKernel>& kernels,
                       const CoreRates& core, bool json);

}  // namespace tcc
