#pragma once

#include <string>

#include "autodiff_features/measured_features.h"

namespace tcc {

// Returns the features of measured points as CSV, in the order of their records: a line for each
// nest or launch of each point that has features. The first columns are the numbers of the record,
// its task and its workload (a task is a workload at some threads, policy and device), its
// measurement, ln seconds by the prior and the nest's number; then come the rows of the table.
std::string FeaturesCsv(const MeasuredFeatures& measured, FeatureKind kind);

}  // namespace tcc
