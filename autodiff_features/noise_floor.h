#pragma once

#include <span>

#include "autodiff_features/measured_features.h"

namespace tcc {

// Predictions of one who knows the true times: ln seconds of each point of each task, moved by a
// normal draw times its noise, which is ln(1 + noise * draw) for little noise and no time below 0
// for any. Judged by the measured times, they show what noise alone takes from any predictor. Equal
// tasks and seeds give equal predictions.
TaskPredictions MeasuredAgain(std::span<const MeasuredTask> tasks, uint64_t seed);

}  // namespace tcc
