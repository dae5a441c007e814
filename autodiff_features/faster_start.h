#pragma once

#include <cstddef>
#include <span>

#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/workload.h"

namespace tcc {

// Returns the ln seconds that the prior of the target's typical device expects of a scheduled
// function whose sizes are all known. Error: a formula that cannot be compiled.
StatusOr<double> ExpectedLnSeconds(const Function& scheduled, const Target& target);

// Returns whether kernels of the target get the start that FasterStart names. Where the prior of
// the device was never held against measurements they do not.
bool TakesFasterStarts(const Target& target);

// Returns the index of the sketch whose start the prior expects to be the fastest; 0 if the first
// one takes less than GpuSizes::start_margin times as long, or does not run. A start on tensor
// cores is replaced only by another one on them, that of attention by none. Each sketch is for its
// variant of `work`.
size_t FasterStart(const KernelWork& work, std::span<const Sketch> sketches, const Target& target);

}  // namespace tcc
