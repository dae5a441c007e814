#pragma once

#include <span>
#include <vector>

#include "schedule/sketch.h"

namespace tcc {

// The schedules that a function may get without a search, beside the first sketch at its start,
// best first: what to fall back to where machine code turns out to need more than was predicted.
// The first sketch at up to kSmallerPoints points that take fewer and fewer registers, the other
// sketches at their starts as GenerateSketches lists them, and the sketch of the last rule alone,
// which is the plainest. None for targets other than GPUs: any code for a CPU will do.
inline constexpr size_t kSmallerPoints = 3;
std::vector<Sketch> OtherSchedules(const Function& fn, const Target& target,
                                   std::span<const SketchRule> rules);

}  // namespace tcc
