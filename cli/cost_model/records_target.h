#pragma once

#include <functional>
#include <span>
#include <string>

#include "autodiff_features/measured_tasks.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Returns the CPU whose caches and vectors measured tasks are predicted for: the one that --target
// names, else the one of the records. Records for "native" are of this CPU only if their device is
// this one. Tasks of GPUs count for nothing here. Warns, once, of records that do not say what they
// were measured on; those are taken for this CPU. Error: `given` is no CPU; without `given`, the
// records are of several targets, of an unknown one, or for "native" of another CPU.
StatusOr<Target> TargetOfRecords(std::span<const MeasuredTask> tasks, const std::string& given,
                                 const std::function<void(const std::string& message)>& warn);

}  // namespace tcc
