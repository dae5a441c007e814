#pragma once

#include <cstdint>

#include "tests/fuzz/fuzz.h"

namespace tcc {

// A task of a random model with free dimensions: a random schedule of its twin, replayed on it and
// lowered once, against the function at several of its sizes (point_check.h).
Status CheckFreeSchedulePoint(uint64_t seed, Histogram& histogram);

}  // namespace tcc
