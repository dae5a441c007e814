#pragma once

#include "support/target.h"
#include "tests/fuzz/schedule_point.h"

namespace tcc {

// A sketch at a random point against the function that it schedules (point_check.h). Even seeds go
// through the sketches of the built-in networks' operators in turn, odd ones draw a random model.
Status CheckSketchPoint(uint64_t seed, const Target& target, const PointCheckOptions& options,
                        const PointLimits& limits, Histogram& histogram);

}  // namespace tcc
