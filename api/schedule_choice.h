#pragma once

#include <optional>
#include <span>

#include "schedule/sketch.h"

namespace tcc {

// The schedules that a function may get without a search, best first: its sketches as
// GenerateSketches lists them, each at its start, then the one of the last rule alone, which is the
// plainest. A CPU has only the first, since any code for it will do. Nothing beyond the last.
std::optional<Sketch> ScheduleChoice(const Function& fn, const Target& target,
                                     std::span<const SketchRule> rules, size_t index);

}  // namespace tcc
