#pragma once

#include <optional>
#include <span>

#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/workload.h"

namespace tcc {

// Returns the ln seconds that the prior of the target's typical device expects of a scheduled
// function whose sizes are all known. Error: a formula that cannot be compiled.
StatusOr<double> ExpectedLnSeconds(const Function& scheduled, const Target& target);

// Returns the sketch, of any variant, whose start the prior expects to be the fastest. nullopt: the
// first sketch of the first variant is, or it takes less than GpuSizes::start_margin times as long;
// the target's device has no such margin, since its prior was never held against measurements.
std::optional<Sketch> FasterStart(const KernelWork& work, const Target& target,
                                  std::span<const SketchRule> rules);

}  // namespace tcc
