#include "cli/print_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace tcc {

using Json = nlohmann::ordered_json;

void PrintJson(std::string_view schema, const Json& object) {
  Json whole = {{"schema", schema}};
  whole.update(object);
  PrintJson(whole);
}

// Names and paths may hold text that is not UTF-8.
void PrintJson(const Json& rows) {
  fmt::print("{}\n", rows.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace tcc
