#pragma once

#include <string>

#include "compiler/kernels.h"
#include "schedule/space/schedule.h"

namespace tcc {

// Reads a folder of schedules: one file per kernel, NAME.trace, in the form of schedule.h. Other
// files are ignored, but a folder with other files only is an error. Errors name the file.
StatusOr<Schedules> ReadSchedules(const std::string& folder);

// Writes the schedule of every kernel. Creates the folder if it is missing.
Status WriteSchedules(const std::string& folder, const KernelSet& kernels);

}  // namespace tcc
