#pragma once

#include <span>
#include <vector>

#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/workload.h"

namespace tcc {

// Returns the schedules that a function may get without a search, beside the first sketch at its
// start, best first. They are fallbacks where the target refuses a schedule (runnable_schedule.h)
// or machine code needs more than was predicted. First comes the first sketch at up to
// kSmallerPoints points that need less and less: registers of a GPU, unrolled statements on a CPU,
// where the sketch within the CPU's limits precedes them. Then come the other sketches at their
// starts as GenerateSketches lists them (on a CPU within its limits), and last the sketch of the
// last rule alone, which is the plainest and always fits. The reference target has none.
inline constexpr size_t kSmallerPoints = 3;
std::vector<Sketch> OtherSchedules(const Function& fn, const Target& target,
                                   std::span<const SketchRule> rules);

// Returns the sketches of all variants, the first variant's in front.
std::vector<Sketch> AllSketches(const KernelWork& work, const Target& target,
                                std::span<const SketchRule> rules);

}  // namespace tcc
