#pragma once

#include <ostream>
#include <string>

#include "api/tcc_c.h"

// The outcome of a call of the C API.
struct Answer {
  tcc_code code;
  std::string message;  // "" on success
  friend bool operator==(const Answer&, const Answer&) = default;
};
inline std::ostream& operator<<(std::ostream& stream, const Answer& answer) {
  return stream << answer.code << " " << answer.message;
}
