#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/status.h"

namespace tcc {

// Splits "name=value" of `option` ("--dim") at the last '=' (names of tensors may hold one). Fails
// with FailedPrecondition where a side is empty.
StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& option,
                                                              const std::string& text);

// Parses "7"; fails for anything but a whole number that fits.
StatusOr<int64_t> ParseSize(const std::string& option, const std::string& text);

// Parses "1x3x224x224".
StatusOr<std::vector<int64_t>> ParseShape(const std::string& option, const std::string& text);

}  // namespace tcc
