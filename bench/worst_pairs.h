#pragma once

#include <string>

#include "autodiff_features/measured_features.h"

namespace tcc {

// Describes pairs of points whose order is predicted wrong. Each pair is a block: both points, and
// the rows of the feature table that tell them apart, which is all that a predictor sees. The pairs
// are the `count` judged pairs (ForEachJudgedPair) with the largest differences, predicted and
// measured together, in ln seconds, at most two per task. Points without a prediction have no rows
// and make no pair. The features are those of `target` and `profile`.
std::string DescribeWorstPairs(const MeasuredFeatures& measured, const TaskPredictions& predicted,
                               size_t count, const Target& target, const CpuProfile& profile);

}  // namespace tcc
