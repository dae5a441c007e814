#include "support/json_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tcc {

using nlohmann::json;

namespace {

constexpr size_t kMaxShown = 60;  // characters of a value in a message

// Returns a value as messages show it. It has only the kind of an array or object: a file may nest
// them deeper than the stack goes.
std::string Shown(const json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

// Returns whether the value is an integer of 64 bits with a sign.
bool IsWhole(const json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
}

// Returns a field that is of the kind that `accepts` tells.
StatusOr<const json*> Get(const JsonFields& fields, const std::string& name,
                          std::string_view expected, bool (json::*accepts)() const noexcept) {
  const json* value = fields.Find(name);
  if (!value) return InvalidInput("field '{}' is missing", name);
  if (!(value->*accepts)()) return JsonFields::Unexpected(name, expected, *value);
  return value;
}

}  // namespace

Status JsonFields::Unexpected(const std::string& name, std::string_view expected,
                              const json& value) {
  return InvalidInput("field '{}': expected {}, got {}", name, expected, Shown(value));
}

const json* JsonFields::Find(const std::string& name) const {
  auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

StatusOr<std::string> JsonFields::Text(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(const json* value, Get(*this, name, "a text", &json::is_string));
  return value->get<std::string>();
}

StatusOr<std::string> JsonFields::TextOr(const std::string& name, const std::string& other) const {
  return Has(name) ? Text(name) : StatusOr<std::string>(other);
}

StatusOr<std::string> JsonFields::Word(const std::string& name,
                                       std::span<const std::string_view> words) const {
  TCC_ASSIGN_OR_RETURN(std::string text, Text(name));
  if (std::ranges::find(words, text) != words.end()) return text;
  return Unexpected(name, fmt::format("one of {}", fmt::join(words, ", ")), text);
}

StatusOr<std::vector<std::string>> JsonFields::Texts(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(const json* array, Get(*this, name, "an array of texts", &json::is_array));
  for (const json& text : *array) {
    if (!text.is_string()) return Unexpected(name, "texts", text);
  }
  return array->get<std::vector<std::string>>();
}

StatusOr<bool> JsonFields::Bool(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(const json* value, Get(*this, name, "true or false", &json::is_boolean));
  return value->get<bool>();
}

StatusOr<double> JsonFields::Number(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(const json* value, Get(*this, name, "a number", &json::is_number));
  return value->get<double>();
}

StatusOr<double> JsonFields::Amount(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(double amount, Number(name));
  if (amount >= 0) return amount;
  return Unexpected(name, "0 or more", amount);
}

StatusOr<double> JsonFields::AmountOr(const std::string& name, double other) const {
  return Has(name) ? Amount(name) : StatusOr<double>(other);
}

StatusOr<int64_t> JsonFields::Whole(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(const json* value, Get(*this, name, "a whole number", &json::is_number));
  if (IsWhole(*value)) return value->get<int64_t>();
  return Unexpected(name, "a whole number", *value);
}

StatusOr<int64_t> JsonFields::Count(const std::string& name, int64_t max) const {
  TCC_ASSIGN_OR_RETURN(const json* value, Get(*this, name, "a whole number", &json::is_number));
  int64_t count = IsWhole(*value) ? value->get<int64_t>() : -1;
  if (count >= 0 && count <= max) return count;
  return Unexpected(name, fmt::format("a whole number from 0 to {}", max), *value);
}

}  // namespace tcc
