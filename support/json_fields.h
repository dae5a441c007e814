#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace tcc {

// A reader of the fields of a JSON object, which outlives it. A field that is null counts as
// missing. Errors (InvalidArgument) name the field, what was expected and what came.
class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& object) : object_(object) {}

  bool Has(const std::string& name) const { return Find(name) != nullptr; }
  // Returns the field; nullptr where it is missing.
  const nlohmann::json* Find(const std::string& name) const;

  StatusOr<std::string> Text(const std::string& name) const;
  StatusOr<std::string> TextOr(const std::string& name, const std::string& other) const;
  // Returns a text that is one of `words`.
  StatusOr<std::string> Word(const std::string& name,
                             std::span<const std::string_view> words) const;
  StatusOr<std::vector<std::string>> Texts(const std::string& name) const;
  StatusOr<bool> Bool(const std::string& name) const;
  StatusOr<double> Number(const std::string& name) const;
  // Returns a number that is 0 or more.
  StatusOr<double> Amount(const std::string& name) const;
  StatusOr<double> AmountOr(const std::string& name, double other) const;
  StatusOr<int64_t> Whole(const std::string& name) const;
  // Returns a whole number from 0 to `max`.
  StatusOr<int64_t> Count(const std::string& name, int64_t max = INT64_MAX) const;

  // Returns the error of a field that holds `value`.
  static Status Unexpected(const std::string& name, std::string_view expected,
                           const nlohmann::json& value);

 private:
  const nlohmann::json& object_;
};

}  // namespace tcc
