#include "cli/inspect_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/readable_units.h"
#include "cli/text_table.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

bool IsNumberOf(const std::string& key, const char* unit) {
  return key == unit || key.ends_with("_" + std::string(unit));
}

std::string CellOf(const std::string& key, const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (key == "flops") return ReadableFlops(value.get<double>());
  if (IsNumberOf(key, "bytes") && value.is_number()) return ReadableBytes(value.get<uint64_t>());
  if (value.is_number_float()) return fmt::format("{:.3g}", value.get<double>());
  bool names = value.is_array() && (value.empty() || value.front().is_string());
  return names ? NamesText(value.get<std::vector<std::string>>()) : value.dump();
}

// Returns the fields that have a value other than null and 0 in some row, in the order of the first
// row.
std::vector<std::string> FieldsOf(const Json& rows) {
  std::vector<std::string> fields;
  for (const auto& [field, ignored] : rows.front().items()) {
    bool used = std::any_of(rows.begin(), rows.end(), [&, name = field](const Json& row) {
      return row.contains(name) && !row[name].is_null() && row[name] != 0;
    });
    if (used) fields.push_back(field);
  }
  return fields;
}

// Prints a row per kernel. The names come last and are not cut off.
void PrintKernels(const Json& kernels) {
  std::vector<std::string> numbers = FieldsOf(kernels);
  std::erase_if(numbers, [](const std::string& f) { return f == "name" || f == "nodes"; });
  std::vector<Row> rows = {numbers};
  rows.back().emplace_back("kernel: nodes");
  for (const Json& kernel : kernels) {
    Row row;
    for (const std::string& field : numbers) {
      row.push_back(kernel.contains(field) ? CellOf(field, kernel[field]) : "");
    }
    row.push_back(kernel["name"].get<std::string>() + ": " + CellOf("nodes", kernel["nodes"]));
    rows.push_back(std::move(row));
  }
  fmt::print("{}", TextTable(rows, "  "));
}

void PrintRows(const Json& list) {
  std::vector<Row> rows = {{}};
  if (list.is_object()) {
    for (const auto& [name, value] : list.items()) rows.push_back({name, CellOf(name, value)});
  } else {
    std::vector<std::string> fields = FieldsOf(list);
    for (const Json& entry : list) {
      Row& row = rows.emplace_back();
      for (const std::string& field : fields) {
        row.push_back(entry.contains(field) ? CellOf(field, entry[field]) : "");
      }
    }
  }
  fmt::print("{}", TextTable(rows, "  "));
}

bool IsList(const Json& value) {
  if (value.empty()) return false;
  return value.is_object() || (value.is_array() && !value.front().is_string());
}

// Returns "nodes after passes", or "weights" for weights_bytes.
std::string TitleOf(std::string key) {
  constexpr std::string_view kBytes = "_bytes";
  if (key.ends_with(kBytes)) key.resize(key.size() - kBytes.size());
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

}  // namespace

void PrintInspection(const Json& summary) {
  std::vector<Row> facts = {{}};
  for (const auto& [key, value] : summary.items()) {
    bool none = value.is_null() || (value.is_structured() && value.empty());
    if (!IsList(value)) facts.push_back({TitleOf(key), none ? "none" : CellOf(key, value)});
  }
  fmt::print("{}", TextTable(facts, ""));
  for (const auto& [key, value] : summary.items()) {
    if (!IsList(value)) continue;
    fmt::print("{}\n", TitleOf(key));
    key == "kernels" ? PrintKernels(value) : PrintRows(value);
  }
}

}  // namespace tcc
