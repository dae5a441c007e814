#include "api/c_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "support/option_values.h"

namespace tcc {
namespace {

Status SetOption(tcc_options& options, const std::string& key, const std::string& value) {
  const std::span<const OptionRow> rows = EmbeddedOptions();
  const auto row = std::ranges::find(rows, key, &OptionRow::key);
  if (row != rows.end() && value.empty()) return UsageError("{}: expected a value, got ''", key);
  if (row != rows.end()) return row->set(options, key, value);
  std::vector<std::string_view> keys;
  for (const OptionRow& known : rows) keys.push_back(known.key);
  return UsageError("there is no option '{}'; expected one of {}", key, fmt::join(keys, ", "));
}

}  // namespace

StatusOr<int> ParseInt(const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(int64_t number, ParseSize(key, value));
  if (number > std::numeric_limits<int>::max()) {
    return UsageError("{}: expected at most {}, got '{}'", key, std::numeric_limits<int>::max(),
                      value);
  }
  return static_cast<int>(number);
}

StatusOr<bool> ParseBool(const std::string& key, const std::string& value) {
  if (value == "true") return true;
  if (value == "false") return false;
  return UsageError("{}: expected true or false, got '{}'", key, value);
}

Status SetMapWeights(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(options.load.map_weights, ParseBool(key, value));
  return OkStatus();
}

}  // namespace tcc

tcc_options* tcc_options_new(void) {
  return new (std::nothrow) tcc_options;
}

tcc_code tcc_options_set(tcc_options* options, const char* key, const char* value,
                         tcc_error** error) {
  return tcc::ReportCall(error, [&] {
    if (key == nullptr || value == nullptr) {
      return tcc::ToApi(tcc::UsageError("an option has a key and a value; expected no null"));
    }
    return tcc::ToApi(tcc::SetOption(*options, key, value));
  });
}

void tcc_options_free(tcc_options* options) {
  delete options;
}
