#pragma once

#include <string>

#include "autodiff_features/measured_tasks.h"
#include "support/status.h"

namespace tcc {

// Adds the measurements of a file of JSON lines, also .xz or .zst, to `tasks`. Two kinds of lines:
//
//   {"fn": TEXT, "trace": .., "set": {"mm.i.1": 4}, "seconds": .., "noise": .., "threads": ..,
//    "policy": .., "status": "ok", "kernel": NAME}       a measurement that stands for itself;
//                                                        "cold": BOOL may stand for the policy;
//                                                        "target" and "device" may be there
//   what `tcc db export` writes, whose measurements name their functions and whose last line has a
//   checksum, which must hold
//
// Measurements of candidates that did not run to an end are skipped, and comparisons of whole
// networks; each counts as a record. Error: the file and the number of the line, what was expected
// and what came.
Status ReadMeasurements(const std::string& path, MeasuredTasks& tasks);

}  // namespace tcc
