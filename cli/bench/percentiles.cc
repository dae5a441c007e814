#include "cli/bench/percentiles.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tcc {
namespace {

StatusOr<double> ParsePercentage(std::string_view text) {
  double value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && rest == text.data() + text.size();
  if (whole && value > 0 && value < 100) return value;
  return UsageError("--percentiles: expected percentages above 0 and below 100, got '{}'", text);
}

// Returns the number of values up to the percentile, at least 1. The product comes first: 7 % of
// 100 is then 7 and not a little more.
size_t RankOf(size_t count, double percent) {
  auto rank = static_cast<size_t>(std::ceil(percent * static_cast<double>(count) / 100));
  return std::clamp<size_t>(rank, 1, count);
}

}  // namespace

StatusOr<std::vector<double>> ParsePercentiles(std::string_view text) {
  std::vector<double> percentiles;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    TCC_ASSIGN_OR_RETURN(double percent, ParsePercentage(text.substr(begin, end - begin)));
    if (!percentiles.empty() && percent <= percentiles.back()) {
      return UsageError("--percentiles: expected ascending percentages, got '{}'", text);
    }
    percentiles.push_back(percent);
    begin = end + 1;
  }
  return percentiles;
}

size_t CountBeyond(size_t count, double percent) {
  return count - RankOf(count, percent);
}

double Percentile(std::span<const double> sorted, double percent) {
  return sorted[RankOf(sorted.size(), percent) - 1];
}

std::optional<double> SupportedPercentile(std::span<const double> sorted, double percent) {
  if (CountBeyond(sorted.size(), percent) == 0) return std::nullopt;
  return Percentile(sorted, percent);
}

double Median(std::span<const double> sorted) {
  return Percentile(sorted, 50);
}

}  // namespace tcc
