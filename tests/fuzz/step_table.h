#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/space/trace.h"
#include "tests/fuzz/fuzz.h"

namespace tcc {

// Counts the steps of a trace that was checked on an operator.
void CountSteps(const std::string& op, const Trace& trace, Histogram& histogram);

// Why the step is never legal on the operator; empty where it is.
std::string_view WhyNever(std::string_view op, std::string_view step);

// Takes the counts out of the histogram and prints them as a table, a row a step, a column an
// operator, and the legal pairs that were not drawn. A run of at least `kPointsForAllPairs` that
// misses one, and a pair that was drawn though WhyNever explains it away, count as failures.
inline constexpr int64_t kPointsForAllPairs = 10'000;
void ReportStepTable(std::span<const std::string> ops, int64_t points, FuzzResult& result);

}  // namespace tcc
