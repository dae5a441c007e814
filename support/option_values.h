#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/dim_range.h"
#include "support/status.h"

// Values of options as text, for the command line and the C API. A failure is FailedPrecondition
// and begins with the option, "--dim" or "dim".
namespace tcc {

// Splits "name=value" at the last '=' (names of tensors may hold one). Fails where a side is empty.
StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& option,
                                                              const std::string& text);

// Parses "7"; fails for anything but a whole number that fits.
StatusOr<int64_t> ParseSize(const std::string& option, const std::string& text);

// Parses "B=1,S=16"; fails where a name comes twice.
StatusOr<std::map<std::string, int64_t>> ParseExtents(const std::string& option,
                                                      const std::string& text);

// Parses the value of a dimension: an extent, "8", or a range that leaves it free, "1..32:8", of
// which each number may be left out: "4..", "..:16", "..".
StatusOr<std::variant<int64_t, DimRange>> ParseDim(const std::string& option,
                                                   const std::string& text);

// Parses "1x3x224x224"; "?" is a kOpenExtent.
StatusOr<std::vector<int64_t>> ParseShape(const std::string& option, const std::string& text);

// Parses "90s", "5m", "1.5h", "20ms", or "30" in seconds, above 0 and at most a year.
StatusOr<double> ParseSeconds(const std::string& option, const std::string& text);

}  // namespace tcc
