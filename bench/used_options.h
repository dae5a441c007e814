#pragma once

#include <CLI/CLI.hpp>

#include "support/status.h"

namespace tcc {

// What a run of tcc-bench kernels does.
enum class KernelsMode {
  kSchedules,       // measures hand-written schedules
  kStage,           // prints a stage of them
  kOperatorsOnCpu,  // measures operators
  kOperatorsOnGpu,
  kCompileOnly,  // compiles operators
};

// Refuses options that were given and would be ignored.
Status ExpectUsedOptions(const CLI::App& app, KernelsMode mode);

}  // namespace tcc
