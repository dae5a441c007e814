#pragma once

#include "ir/target.h"
#include "schedule/schedule.h"

namespace tcc {

// A schedule for `fn` (kTensor, static extents) that is always legal and decent: the first sketch
// of the target's rules at the point where a search would start. Tuned kernels are checked against
// it. The reference target gets no steps.
Schedule DefaultSchedule(const Function& fn, const Target& target);

}  // namespace tcc
