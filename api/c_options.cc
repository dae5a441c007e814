#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "api/c_handles.h"
#include "support/option_values.h"

// Options of the C API: texts by the names of the command line's options.
namespace tcc {
namespace {

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

struct OptionRow {
  std::string_view key;
  Status (*set)(tcc_options& options, const std::string& key, const std::string& value);
};

constexpr OptionRow kOptions[] = {
    {"threads",
     [](tcc_options& options, const std::string& key, const std::string& value) {
       TCC_ASSIGN_OR_RETURN(options.load.threads, ParseInt(key, value));
       return OkStatus();
     }},
    {"map-weights",
     [](tcc_options& options, const std::string& key, const std::string& value) {
       TCC_ASSIGN_OR_RETURN(options.load.map_weights, ParseBool(key, value));
       return OkStatus();
     }},
    {"device",
     [](tcc_options& options, const std::string& key, const std::string& value) {
       TCC_ASSIGN_OR_RETURN(options.load.device, ParseInt(key, value));
       return OkStatus();
     }},
};

Status SetOption(tcc_options& options, const std::string& key, const std::string& value) {
  const auto* row = std::ranges::find(kOptions, key, &OptionRow::key);
  if (row != std::end(kOptions)) return row->set(options, key, value);
  std::vector<std::string_view> keys;
  for (const OptionRow& known : kOptions) keys.push_back(known.key);
  return UsageError("there is no option '{}'; expected one of {}", key, fmt::join(keys, ", "));
}

}  // namespace
}  // namespace tcc

tcc_options* tcc_options_new(void) {
  return new (std::nothrow) tcc_options;
}

tcc_code tcc_options_set(tcc_options* options, const char* key, const char* value,
                         tcc_error** error) {
  return tcc::Guard(error, [&] {
    if (key == nullptr || value == nullptr) {
      return tcc::ToApi(tcc::UsageError("an option has a key and a value; expected no null"));
    }
    return tcc::ToApi(tcc::SetOption(*options, key, value));
  });
}

void tcc_options_free(tcc_options* options) {
  delete options;
}
