#pragma once

#include "schedule/space/schedule.h"
#include "support/target.h"

namespace tcc {

// Returns values for the sizes that the schedule leaves open: a point that the target's limits
// allow, the same one every time. Error: the trace's; a size of too many values to choose from; no
// such point was found.
StatusOr<Decisions> DecideOpenSizes(const Function& fn, const Schedule& schedule,
                                    const Target& target);

// Applies the schedule to `fn`, if the target can run the result. A CPU has no hardware indices to
// bind loops to; a GPU runs whole launches (schedule/space/whole_launches.h) within its limits of
// threads, blocks and shared memory; neither unrolls into far more than kMaxStatements or
// vectorizes beyond kMaxLanes. Error: the step after which the target cannot run it, and why.
StatusOr<Function> ReplayFor(const Target& target, const Function& fn, const Schedule& schedule);

}  // namespace tcc
