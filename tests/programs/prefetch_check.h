#pragma once

#include <functional>
#include <string>

#include "schedule/space/trace.h"

namespace tcc {

// Hints change no result, so this looks at them themselves: right after a Prefetch of the trace, in
// a few iterations of its loop, each line of 64 bytes that the block reads `distance` iterations
// later (in the order in which it reads them) must be asked for exactly once, and no other. Returns
// what is wrong with the first that is not, or "". `plant` alters the program: a mistake that must
// be found.
std::string FirstLineNotPrefetched(const Function& fn, const Trace& trace,
                                   const Decisions& decisions,
                                   const std::function<Function(const Function&)>& plant = nullptr);

}  // namespace tcc
