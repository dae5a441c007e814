#pragma once

#include <span>
#include <vector>

#include "schedule/sketches/parts/sketch.h"

namespace tcc {

// The schedules that a function may get without a search, beside the first sketch at its start,
// best first: what to fall back to where the target refuses a schedule (runnable_schedule.h) or
// machine code turns out to need more than was predicted. The first sketch at up to kSmallerPoints
// points that take less and less: of a GPU's registers; of a CPU statements once unrolled, and
// first of all within its limits. Then the other sketches at their starts as GenerateSketches lists
// them, a CPU's within its limits, and the sketch of the last rule alone, which is the plainest and
// fits everything. None for the reference target.
inline constexpr size_t kSmallerPoints = 3;
std::vector<Sketch> OtherSchedules(const Function& fn, const Target& target,
                                   std::span<const SketchRule> rules);

}  // namespace tcc
