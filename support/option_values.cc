#include "support/option_values.h"

#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>
#include <algorithm>

#include <charconv>
#include <string_view>

namespace tcc {
namespace {

constexpr double kMaxSeconds = 365.0 * 24 * 3600;  // a year

// Takes a whole number from the front of the text, if one stands there.
std::optional<int64_t> TakeSize(absl::string_view& text) {
  int64_t size = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || size < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return size;
}

}  // namespace

StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& option,
                                                              const std::string& text) {
  size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    return UsageError("{}: expected name=value, got '{}'", option, text);
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

StatusOr<int64_t> ParseSize(const std::string& option, const std::string& text) {
  int64_t size = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 0) {
    return UsageError("{}: expected a whole number, got '{}'", option, text);
  }
  return size;
}

StatusOr<std::map<std::string, int64_t>> ParseExtents(const std::string& option,
                                                      const std::string& text) {
  std::map<std::string, int64_t> extents;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment(option, text.substr(begin, end - begin)));
    TCC_ASSIGN_OR_RETURN(int64_t extent, ParseSize(option, pair.second));
    if (!extents.emplace(pair.first, extent).second) {
      return UsageError("{}: '{}' is given twice in '{}'", option, pair.first, text);
    }
    begin = end + 1;
  }
  return extents;
}

StatusOr<std::variant<int64_t, DimRange>> ParseDim(const std::string& option,
                                                   const std::string& text) {
  absl::string_view rest = text;
  DimRange range{.low = TakeSize(rest)};
  if (range.low && rest.empty()) return *range.low;
  bool is_range = absl::ConsumePrefix(&rest, "..");
  range.high = TakeSize(rest);
  if (absl::ConsumePrefix(&rest, ":")) {
    range.usual = TakeSize(rest);
    is_range = is_range && range.usual;
  }
  if (is_range && rest.empty()) return range;
  return UsageError("{}: expected a whole number, or a range as 1..32 or 1..32:8, got '{}'", option,
                    text);
}

StatusOr<std::vector<int64_t>> ParseShape(const std::string& option, const std::string& text) {
  std::vector<int64_t> shape;
  for (const auto& word : absl::StrSplit(text, 'x')) {
    if (word == "?") {
      shape.push_back(kOpenExtent);
      continue;
    }
    TCC_ASSIGN_OR_RETURN(int64_t size, ParseSize(option, std::string(word)));
    shape.push_back(size);
  }
  return shape;
}

StatusOr<double> ParseSeconds(const std::string& option, const std::string& text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, text.data() + text.size() - end);
  double scale = 0;
  if (unit.empty() || unit == "s") scale = 1;
  if (unit == "ms") scale = 1e-3;
  if (unit == "m" || unit == "min") scale = 60;
  if (unit == "h") scale = 3600;
  double seconds = number * scale;
  if (error != std::errc() || !(seconds > 0) || !(seconds <= kMaxSeconds)) {
    return UsageError("{} {}: expected a time as 90s, 5m or 1h", option, text);
  }
  return seconds;
}

}  // namespace tcc
