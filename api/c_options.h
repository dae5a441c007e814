#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/c_handles.h"

// The options of the C API: texts by the names of the command line's options.
namespace tcc {

struct OptionRow {
  std::string_view key;
  // Parses the value. Fails with FailedPrecondition, naming the key.
  Status (*set)(tcc_options& options, const std::string& key, const std::string& value);
};

// Returns the options that this library has; each library has its own list.
std::span<const OptionRow> EmbeddedOptions();

// Parses 0 or a positive number.
StatusOr<int> ParseInt(const std::string& key, const std::string& value);
// Parses "true" or "false".
StatusOr<bool> ParseBool(const std::string& key, const std::string& value);

Status SetMapWeights(tcc_options& options, const std::string& key, const std::string& value);

}  // namespace tcc
