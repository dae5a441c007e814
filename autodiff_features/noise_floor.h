#pragma once

#include <span>

#include "autodiff_features/measured_features.h"

namespace tcc {

// Returns the predictions of an oracle that knows the true times: ln seconds of each point of each
// task, moved by a normal draw times its noise. This is ln(1 + noise * draw) for small noise, and
// no time falls below 0 for any noise. Judged by the measured times, these predictions show what
// noise alone costs any predictor. Equal tasks and seeds give equal predictions.
TaskPredictions MeasuredAgain(std::span<const MeasuredTask> tasks, uint64_t seed);

}  // namespace tcc
