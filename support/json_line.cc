#include "support/json_line.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "support/printable.h"

namespace tcc {
namespace {

using Line = nlohmann::ordered_json;

std::string StringText(const std::string& text) {
  std::string json = "\"";
  for (char c : WithValidUtf8(text)) {
    if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (c == '\n') {
      json += "\\n";
    } else if ((c >= 0 && c < 0x20) || c == 0x7f) {
      json += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      json += c;
    }
  }
  return json + "\"";
}

// Returns a value as the export has it. Doubles have the fewest digits that are read back exactly,
// which nlohmann's dump() does not promise.
std::string ValueText(const Line& value) {
  if (value.is_string()) return StringText(value.get<std::string>());
  if (value.is_number_float()) {
    auto number = value.get<double>();
    return fmt::format("{}", std::isfinite(number) ? number : std::numeric_limits<double>::max());
  }
  if (!value.is_array()) return value.dump();
  std::string texts;
  for (const Line& text : value) texts += (texts.empty() ? "" : ", ") + ValueText(text);
  return "[" + texts + "]";
}

}  // namespace

std::string JsonLine(const Line& object) {
  std::string fields;
  for (const auto& [name, value] : object.items()) {
    fields += fmt::format("{}\"{}\": {}", fields.empty() ? "" : ", ", name, ValueText(value));
  }
  return "{" + fields + "}\n";
}

StatusOr<nlohmann::json> ParseJsonLine(std::string_view line) {
  using Json = nlohmann::json;
  using Event = Json::parse_event_t;
  std::set<std::string> names;
  std::string name, fault;
  auto expect = [&](bool holds, const char* what) {
    if (!holds && fault.empty()) fault = fmt::format("field '{}': expected {}", name, what);
  };
  auto check = [&](int depth, Event event, const Json& value) {
    if (event == Event::key) {
      name = value.get<std::string>();
      expect(names.insert(name).second, "a name that comes once");
    }
    bool nested =
        (event == Event::object_start && depth > 0) || (event == Event::array_start && depth > 1);
    expect(!nested, "no objects and arrays within");
    return fault.empty();
  };
  Json object;
  try {
    object = Json::parse(line, check);
  } catch (const Json::parse_error& error) {
    std::string came(line.substr(std::min(error.byte - 1, line.size()), 1));
    return InvalidInput("column {}: expected a JSON object, got {}", error.byte,
                        came.empty() ? "the end" : StringText(came));
  } catch (const Json::out_of_range&) {
    return InvalidInput("field '{}': expected a number that a double can hold", name);
  }
  if (!fault.empty()) return InvalidInput("{}", fault);
  if (!object.is_object()) return InvalidInput("expected a JSON object");
  return object;
}

}  // namespace tcc
