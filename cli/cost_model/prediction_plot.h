#pragma once

#include <string>

#include "autodiff_features/measured_features.h"

namespace tcc {

// An SVG of the seconds that the prior and the model predict, against the measured ones, on
// logarithmic axes. Each point is a circle for the prior and one for the model. Points without a
// prediction are left out. More than kMaxPlottedPoints are thinned out at even distances.
std::string PredictionPlot(const MeasuredFeatures& judged, const LearnedModel& model);
inline constexpr size_t kMaxPlottedPoints = 4000;

}  // namespace tcc
