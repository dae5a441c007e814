#pragma once

#include <CLI/CLI.hpp>

#include "support/status.h"

namespace tcc {

// The mode of a run of tcc-bench kernels.
enum class KernelsMode {
  kSchedules,       // measures hand-written schedules
  kStage,           // prints a stage of them
  kOperatorsOnCpu,  // measures operators
  kOperatorsOnGpu,
  kCompileOnly,  // compiles operators
};

// Refuses options that were given and that the mode would ignore.
Status ExpectUsedOptions(const CLI::App& app, KernelsMode mode);

}  // namespace tcc
