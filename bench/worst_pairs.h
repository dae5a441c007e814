#pragma once

#include <string>

#include "autodiff_features/measured_features.h"

namespace tcc {

// Describes pairs of points whose order is predicted wrong, a block each: both points, and the rows
// of the feature table that tell them apart, which is all that a predictor sees. They are the
// `count` judged pairs (ForEachJudgedPair) with the largest differences, predicted and measured
// together, in ln seconds, at most two of a task; points without a prediction have no rows and make
// no pair. `target` and `profile`: those that the features are of.
std::string DescribeWorstPairs(const MeasuredFeatures& measured, const TaskPredictions& predicted,
                               size_t count, const Target& target, const CpuProfile& profile);

}  // namespace tcc
