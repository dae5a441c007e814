#include "cli/report/json_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tcc {
namespace {

constexpr double kMaxCount = 9007199254740992;  // 2^53
constexpr size_t kMaxShown = 60;                // characters of a value in a message

// Returns a value as messages show it. It has only the kind of an array or object: a file may nest
// them deeper than the stack goes.
std::string Shown(const nlohmann::json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

}  // namespace

const nlohmann::json* JsonFields::Find(const char* name) const {
  auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

StatusOr<std::string> JsonFields::Text(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return std::string();
  if (value->is_string()) return value->get<std::string>();
  return InvalidInput("field '{}': expected a text, got {}", name, Shown(*value));
}

StatusOr<std::string> JsonFields::RequiredText(const char* name) const {
  if (!Find(name)) return InvalidInput("field '{}' is missing", name);
  return Text(name);
}

StatusOr<std::string> JsonFields::RequiredWord(const char* name,
                                               std::span<const std::string_view> words) const {
  TCC_ASSIGN_OR_RETURN(std::string text, RequiredText(name));
  if (std::ranges::find(words, text) != words.end()) return text;
  return InvalidInput("field '{}': expected one of {}, got {}", name, fmt::join(words, ", "),
                      Shown(*Find(name)));
}

StatusOr<double> JsonFields::Figure(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return 0.0;
  double figure = value->is_number() ? value->get<double>() : -1;
  if (figure == 0 || (figure >= kMinFigure && figure <= kMaxFigure)) return figure;
  return InvalidInput("field '{}': expected 0 or a number from {:g} to {:g}, got {}", name,
                      kMinFigure, kMaxFigure, Shown(*value));
}

StatusOr<int64_t> JsonFields::Count(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return 0;
  double count = value->is_number_integer() ? value->get<double>() : -1;
  if (count >= 0 && count <= kMaxCount) return static_cast<int64_t>(count);
  return InvalidInput("field '{}': expected a whole number from 0 to {:.0f}, got {}", name,
                      kMaxCount, Shown(*value));
}

StatusOr<int64_t> JsonFields::RequiredCount(const char* name) const {
  if (!Find(name)) return InvalidInput("field '{}' is missing", name);
  return Count(name);
}

}  // namespace tcc
