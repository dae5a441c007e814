#pragma once

#include <string>

#include "compiler/kernels.h"
#include "schedule/space/schedule.h"

namespace tcc {

// A folder of schedules: one file a kernel, NAME.trace, as schedule.h says. Other files are not
// looked at; a folder with no schedule but other files is an error. Errors name the file.
StatusOr<Schedules> ReadSchedules(const std::string& folder);

// Writes what every kernel got. The folder is made if it is not there.
Status WriteSchedules(const std::string& folder, const KernelSet& kernels);

}  // namespace tcc
