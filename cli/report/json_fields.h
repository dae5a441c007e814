#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

// A reader of the fields of a JSON object, which outlives it. A field that is missing or null has a
// default. Errors name the field, what was expected and what came.
class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& object) : object_(object) {}

  // Returns a text, "" by default.
  StatusOr<std::string> Text(const char* name) const;
  // Returns a text; InvalidArgument where it is missing.
  StatusOr<std::string> RequiredText(const char* name) const;
  // Returns a text that is one of `words`; InvalidArgument where it is missing.
  StatusOr<std::string> RequiredWord(const char* name,
                                     std::span<const std::string_view> words) const;
  // Returns a time, ratio or rate, 0 by default. It is 0 or between kMinFigure and kMaxFigure, so
  // that quotients and sums of such figures are finite.
  StatusOr<double> Figure(const char* name) const;
  // Returns a whole number from 0 to 2^53, 0 by default.
  StatusOr<int64_t> Count(const char* name) const;
  // Returns a whole number like Count; InvalidArgument where it is missing.
  StatusOr<int64_t> RequiredCount(const char* name) const;

  static constexpr double kMinFigure = 1e-18;
  static constexpr double kMaxFigure = 1e24;

 private:
  // Returns the field; nullptr where it is missing or null.
  const nlohmann::json* Find(const char* name) const;

  const nlohmann::json& object_;
};

}  // namespace tcc
