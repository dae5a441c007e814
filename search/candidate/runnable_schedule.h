#pragma once

#include "schedule/space/schedule.h"
#include "support/target.h"

namespace tcc {

// Values for the sizes that the schedule leaves open: those of a point that the target's limits
// allow, the same every time. Error: the trace's; a size of too many values to choose from; no such
// point was found.
StatusOr<Decisions> DecideOpenSizes(const Function& fn, const Schedule& schedule,
                                    const Target& target);

// `fn` as the schedule says, if the target can run that: a CPU has no hardware indices to bind
// loops to; a GPU runs whole launches (lower/whole_launches.h) of threads, blocks and shared memory
// that it has; neither unrolls into far more than kMaxStatements or vectorizes beyond kMaxLanes.
// Error: the step after which it cannot, and why.
StatusOr<Function> ReplayFor(const Target& target, const Function& fn, const Schedule& schedule);

}  // namespace tcc
