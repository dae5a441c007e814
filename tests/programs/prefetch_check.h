#pragma once

#include <functional>
#include <string>

#include "schedule/space/trace.h"

namespace tcc {

// Hints change no result, so this looks at them themselves: right after a Prefetch of the trace, in
// a few iterations of its loop, of the cells that the block reads `distance` iterations later (in
// the order in which it reads them) one of every 64 bytes must be asked for. Empty, or the first
// that is not. `plant` alters the program: a mistake that must be found.
std::string FirstLineNotPrefetched(const Function& fn, const Trace& trace,
                                   const Decisions& decisions,
                                   const std::function<Function(const Function&)>& plant = nullptr);

}  // namespace tcc
