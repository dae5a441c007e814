#pragma once

#include <string>

#include "autodiff_features/measured_features.h"

namespace tcc {

// Returns an SVG of the seconds that the prior and the model predict, against the measured ones, on
// logarithmic axes. Each point is a circle for the prior and one for the model. Points without a
// prediction are left out. If there are more than kMaxPlottedPoints, points at even distances
// remain.
std::string PredictionPlot(const MeasuredFeatures& judged, const LearnedModel& model);
inline constexpr size_t kMaxPlottedPoints = 4000;

}  // namespace tcc
