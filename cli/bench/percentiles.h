#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace tcc {

// Parses "50,90,99.9": percentages above 0 and below 100, each greater than the one before.
StatusOr<std::vector<double>> ParsePercentiles(std::string_view text);

// Returns how many of `count` values lie beyond their percentile by nearest rank. Below one, the
// percentile is the maximum, whatever the percentage.
size_t CountBeyond(size_t count, double percent);

// Returns the percentile by nearest rank. Expects ascending values, at least one.
double Percentile(std::span<const double> sorted, double percent);

// Returns the percentile; nullopt where no value lies beyond it.
std::optional<double> SupportedPercentile(std::span<const double> sorted, double percent);

// Returns the 50th percentile. Expects ascending values, at least one.
double Median(std::span<const double> sorted);

}  // namespace tcc
