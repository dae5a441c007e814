#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/status.h"

// JSON objects of one line: no null, no nested objects, arrays of strings only.
namespace tcc {

// Returns the text in quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

// A builder of a JSON object; fields are in the order of the calls.
class JsonObject {
 public:
  JsonObject& Add(std::string_view name, std::string_view value);
  JsonObject& Add(std::string_view name, const char* value);
  JsonObject& Add(std::string_view name, int64_t value);
  JsonObject& Add(std::string_view name, double value);  // finite; read back exactly
  JsonObject& Add(std::string_view name, bool value);
  JsonObject& Add(std::string_view name, const std::vector<std::string>& value);
  std::string line() const { return "{" + fields_ + "}\n"; }

 private:
  JsonObject& AddText(std::string_view name, std::string_view json);
  std::string fields_;
};

// The fields of a parsed object. Errors name the field, what was expected and what came.
class JsonLineFields {
 public:
  bool Has(const std::string& name) const { return values_.contains(name); }
  StatusOr<std::string> Text(const std::string& name) const;
  StatusOr<std::vector<std::string>> Texts(const std::string& name) const;
  StatusOr<int64_t> Int(const std::string& name) const;
  StatusOr<double> Real(const std::string& name) const;  // finite

 private:
  struct Number {
    std::string text;
  };
  using Value = std::variant<bool, Number, std::string, std::vector<std::string>>;
  friend class JsonLineReader;

  StatusOr<const Value*> Find(const std::string& name) const;
  template <typename T>
  StatusOr<T> Get(const std::string& name, std::string_view kind) const;
  std::map<std::string, Value> values_;
};

// Parses one line strictly: white space only between tokens, no name twice, valid UTF-8, nothing
// after the object. Errors name the column.
StatusOr<JsonLineFields> ParseJsonLine(std::string_view line);

}  // namespace tcc
