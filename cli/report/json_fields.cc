#include "cli/report/json_fields.h"

#include <nlohmann/json.hpp>

namespace tcc {
namespace {

constexpr double kMaxCount = 9007199254740992;  // 2^53

}  // namespace

const nlohmann::json* JsonFields::Find(const char* name) const {
  auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

StatusOr<std::string> JsonFields::Text(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return std::string();
  if (value->is_string()) return value->get<std::string>();
  return InvalidInput("field '{}': expected a text", name);
}

StatusOr<std::string> JsonFields::RequiredText(const char* name) const {
  if (!Find(name)) return InvalidInput("field '{}' is missing", name);
  return Text(name);
}

StatusOr<double> JsonFields::Figure(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return 0.0;
  double figure = value->is_number() ? value->get<double>() : -1;
  if (figure == 0 || (figure >= kMinFigure && figure <= kMaxFigure)) return figure;
  return InvalidInput("field '{}': expected 0 or a number from {:g} to {:g}", name, kMinFigure,
                      kMaxFigure);
}

StatusOr<int64_t> JsonFields::Count(const char* name) const {
  const nlohmann::json* value = Find(name);
  if (!value) return 0;
  double count = value->is_number_integer() ? value->get<double>() : -1;
  if (count >= 0 && count <= kMaxCount) return static_cast<int64_t>(count);
  return InvalidInput("field '{}': expected a whole number", name);
}

}  // namespace tcc
