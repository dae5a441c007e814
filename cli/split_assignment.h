#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/status.h"

namespace tcc {

// "name=value" of `option` ("--dim"), split at the last '=' (names of tensors may hold one). Fails
// with FailedPrecondition where a side is empty.
StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& option,
                                                              const std::string& text);

// "7"; fails for what is not a whole number that fits.
StatusOr<int64_t> ParseSize(const std::string& option, const std::string& text);

// "1x3x224x224".
StatusOr<std::vector<int64_t>> ParseShape(const std::string& option, const std::string& text);

}  // namespace tcc
