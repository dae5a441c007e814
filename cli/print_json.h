#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tcc {

// Prints an object that begins with its schema, "tcc.inspect/1", whose keys
// docs/schemas/inspect.json describes. The number grows when the meaning of a key changes or a key
// goes.
void PrintJson(std::string_view schema, const nlohmann::ordered_json& object);

// Prints an array.
void PrintJson(const nlohmann::ordered_json& rows);

}  // namespace tcc
