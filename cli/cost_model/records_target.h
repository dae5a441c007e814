#pragma once

#include <functional>
#include <span>
#include <string>

#include "autodiff_features/measured_tasks.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Returns the device that measured tasks are predicted for: the CPU or GPU that --target names,
// else the CPU of the records. Records for "native" are of this CPU only if their device is this
// one. Tasks of GPUs count for nothing without --target. Warns, once, of records that do not say
// what they were measured on; those are taken for this CPU. Error: `given` is no device; without
// `given`, the records are of several targets, of an unknown one, or for "native" of another CPU.
StatusOr<Target> TargetOfRecords(std::span<const MeasuredTask> tasks, const std::string& given,
                                 const std::function<void(const std::string& message)>& warn);

}  // namespace tcc
