#pragma once

#include <string>

#include "cli/command_line.h"
#include "cli/progress.h"
#include "runtime/artefact/metadata.h"
#include "support/numeric_mode.h"

namespace tcc {

// Adds --numeric, "strict" by default. FindNumericMode refuses a name that is no mode.
void AddNumericOption(CommandLine& line, std::string& name);

// Adds --no-winograd, a flag.
void AddWinogradOption(CommandLine& line, bool& no_winograd);

// Returns the mode that a compiled model says it was made with; strict where it says nothing.
StatusOr<NumericMode> NumericModeOf(const Metadata& metadata);

// Warns of kernels that do not round as the model's mode would have it.
void WarnOfStrictKernels(const Metadata& metadata, Progress& progress);

}  // namespace tcc
