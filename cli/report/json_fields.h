#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "support/status.h"

namespace tcc {

// Reads fields of a JSON object, which outlives it. A field that is missing or null has a default.
// Errors name the field and what was expected.
class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& object) : object_(object) {}

  // "" by default.
  StatusOr<std::string> Text(const char* name) const;
  // InvalidArgument where it is missing.
  StatusOr<std::string> RequiredText(const char* name) const;
  // A time, ratio or rate, 0 by default: 0 or between kMinFigure and kMaxFigure, so that
  // quotients and sums of them are finite.
  StatusOr<double> Figure(const char* name) const;
  // A whole number from 0 to 2^53, 0 by default.
  StatusOr<int64_t> Count(const char* name) const;

  static constexpr double kMinFigure = 1e-18;
  static constexpr double kMaxFigure = 1e24;

 private:
  // nullptr where it is missing or null.
  const nlohmann::json* Find(const char* name) const;

  const nlohmann::json& object_;
};

}  // namespace tcc
