#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "support/status.h"

// A file of JSON objects, one per line.
namespace tcc {

// Returns the object, of texts, numbers, bools and arrays of them, as a line with its end. Doubles
// have the fewest digits that are read back exactly; what is not finite becomes the largest one.
std::string JsonLine(const nlohmann::ordered_json& object);

// Parses a line of texts, numbers, bools and arrays of texts. Errors (InvalidArgument) name the
// column or the field.
StatusOr<nlohmann::json> ParseJsonLine(std::string_view line);

}  // namespace tcc
