#pragma once

#include "schedule/space/schedule.h"
#include "support/target.h"

// Schedules of functions whose shapes are known at run time. Sketch rules, features and searchers
// see the twin, in which every extent is a number; what they choose is replayed on the function.
namespace tcc {

// Returns whether the function has Shape variables.
bool HasFreeShapes(const Function& fn);

// Returns the function at the usual values of its Shape variables. Its blocks, loops
// and buffers have the same names. Without Shape variables that is the function itself.
Function TwinOf(const Function& fn);

// Returns the steps of a schedule of the twin that the function gets: all but Prepacks of what
// depends on its Shape variables, of which nothing is known at Link, and Prefetches whose hints an
// iteration would be counted by them; other Prefetches have the pace kPresent. From a step on that
// is not legal all stay.
Schedule FreeSchedule(const Function& fn, const Schedule& of_twin);

// Replays FreeSchedule on the function, for all values of its Shape variables; without any it is
// ReplayFor. InvalidArgument: a step or its constraint may not hold for all of them, by number and
// text; a limit of the target.
StatusOr<Function> ReplayFree(const Function& fn, const Schedule& of_twin, const Target& target);

}  // namespace tcc
