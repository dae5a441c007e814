#include "search/database/database_text.h"

#include <absl/strings/str_split.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/analysis/canonical.h"
#include "ir/analysis/verifier.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "search/database/database_rows.h"
#include "search/database/schema.h"
#include "support/json_fields.h"
#include "support/printable.h"
#include "support/sha256.h"

namespace tcc {
namespace {

using Line = nlohmann::ordered_json;

// Operands come from memory that is not in the caches, as in a network.
bool IsCold(const std::string& policy) {
  return policy == "in-place" || policy == "rotate-64M" || policy == "rotate-L2";
}

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

std::string LineText(const Line& line) {
  std::string fields;
  for (const auto& [name, value] : line.items()) {
    fields += fmt::format("{}\"{}\": {}", fields.empty() ? "" : ", ", name, ValueText(value));
  }
  return "{" + fields + "}\n";
}

Status ExportVariants(SqliteConnection& connection, std::string& text) {
  return connection.Query("SELECT key, text FROM variant ORDER BY key", {}, [&](const SqlRow& row) {
    text += LineText({{"function", row.Text(0)}, {"text", row.Text(1)}});
    return OkStatus();
  });
}

Status ExportWorkloads(SqliteConnection& connection, std::string& text) {
  const char* query =
      "SELECT key, name, first_variant, flops, moved_bytes FROM workload ORDER BY key";
  return connection.Query(query, {}, [&](const SqlRow& row) {
    Line line = {{"workload", row.Text(0)},
                 {"name", row.Text(1)},
                 {"first", row.Text(2)},
                 {"flops", row.Real(3)}};
    if (!row.IsNull(4)) line["moved_bytes"] = row.Int(4);
    text += LineText(line);
    return OkStatus();
  });
}

constexpr const char* kRecordColumns =
    "s.variant_key, w.key, s.rules, s.trace, c.decisions, c.lowered_key, m.series, m.at, "
    "m.searcher, m.build_seconds, ";
constexpr int kRecordColumnCount = 10;

std::string RecordLine(const SqlRow& row, const Measurement& measured,
                       const Environment& environment) {
  std::vector<std::string> set = absl::StrSplit(row.Text(4), ' ', absl::SkipEmpty());
  Line line = {{"fn", row.Text(0)},
               {"workload", row.Text(1)},
               {"rules", row.Text(2)},
               {"trace", row.Text(3)},
               {"set", set}};
  if (!row.IsNull(5)) line["lowered"] = row.Text(5);
  line["status"] = NameOf(measured.status);
  if (measured.seconds != 0) line["seconds"] = measured.seconds;
  line.update({{"spread", measured.spread},
               {"calls", measured.calls},
               {"error", measured.error},
               {"canary", measured.canary},
               {"message", measured.message},
               {"build_seconds", row.Real(9)},
               {"searcher", row.Text(8)},
               {"series", row.Int(6)},
               {"at", row.Int(7)},
               {"target", environment.target},
               {"device", environment.device},
               {"threads", environment.threads},
               {"measurer", environment.measurer},
               {"policy", environment.policy},
               {"cold", IsCold(environment.policy)},
               {"tcc", environment.tcc},
               {"compilers", environment.compilers}});
  return LineText(line);
}

Status ExportRecords(SqliteConnection& connection, std::string& text, int64_t& records) {
  std::string query = fmt::format(
      "SELECT {}{}, {} FROM measurement m JOIN candidate c ON c.id = m.candidate "
      "JOIN sketch s ON s.id = c.sketch JOIN workload w ON w.id = s.workload "
      "JOIN environment e ON e.id = m.environment "
      "ORDER BY w.key, e.key, m.series, m.at, s.key, c.decisions",
      kRecordColumns, kMeasurementColumns, kEnvironmentColumns);
  return connection.Query(query, {}, [&](const SqlRow& row) -> Status {
    TCC_ASSIGN_OR_RETURN(Measurement measured, MeasurementAt(row, kRecordColumnCount));
    Environment environment = EnvironmentAt(row, kRecordColumnCount + kMeasurementColumnCount);
    text += RecordLine(row, measured, environment);
    ++records;
    return OkStatus();
  });
}

// Parses a line of texts, numbers, bools and arrays of texts. Errors name the column or the field.
StatusOr<nlohmann::json> ParseLine(absl::string_view line) {
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

StatusOr<Measurement> MeasurementIn(const JsonFields& fields) {
  Measurement measured;
  TCC_ASSIGN_OR_RETURN(std::string name, fields.Text("status"));
  std::optional<MeasureStatus> status = FindMeasureStatus(name);
  if (!status) return InvalidInput("status '{}' is not known", name);
  measured.status = *status;
  bool timed = *status == MeasureStatus::kOk || fields.Has("seconds");
  if (timed) {
    TCC_ASSIGN_OR_RETURN(measured.seconds, fields.Number("seconds"));
  }
  if (timed && measured.seconds <= 0) {
    return InvalidInput("field 'seconds' is {}; expected more than 0", measured.seconds);
  }
  TCC_ASSIGN_OR_RETURN(measured.spread, fields.Amount("spread"));
  TCC_ASSIGN_OR_RETURN(measured.calls, fields.Count("calls"));
  TCC_ASSIGN_OR_RETURN(measured.error, fields.Amount("error"));
  TCC_ASSIGN_OR_RETURN(measured.canary, fields.Amount("canary"));
  TCC_ASSIGN_OR_RETURN(measured.message, fields.Text("message"));
  return measured;
}

StatusOr<Environment> EnvironmentIn(const JsonFields& fields,
                                    const DatabaseImportOptions& options) {
  constexpr int kMaxThreads = 1 << 20;
  Environment environment;
  TCC_ASSIGN_OR_RETURN(environment.tcc, fields.Text("tcc"));
  TCC_ASSIGN_OR_RETURN(environment.target, fields.Text("target"));
  TCC_ASSIGN_OR_RETURN(environment.device, fields.Text("device"));
  TCC_ASSIGN_OR_RETURN(environment.measurer, fields.Text("measurer"));
  TCC_ASSIGN_OR_RETURN(environment.policy, fields.Text("policy"));
  TCC_ASSIGN_OR_RETURN(environment.compilers, fields.Text("compilers"));
  TCC_ASSIGN_OR_RETURN(int64_t threads, fields.Count("threads", kMaxThreads));
  environment.threads = static_cast<int>(threads);
  if (!options.keep_measurer && !environment.measurer.starts_with(kImportPrefix)) {
    environment.measurer.insert(0, kImportPrefix);
  }
  return environment;
}

StatusOr<StoredTrial> TrialIn(const JsonFields& fields) {
  StoredTrial trial;
  TCC_ASSIGN_OR_RETURN(trial.variant_key, fields.Text("fn"));
  TCC_ASSIGN_OR_RETURN(trial.rules, fields.Text("rules"));
  TCC_ASSIGN_OR_RETURN(std::string trace, fields.Text("trace"));
  StatusOr<Trace> parsed = ParseTrace(trace);
  if (!parsed.ok()) return Annotate(parsed.status(), "trace");
  trial.schedule.trace = *std::move(parsed);
  TCC_ASSIGN_OR_RETURN(std::vector<std::string> set, fields.Texts("set"));
  TCC_ASSIGN_OR_RETURN(trial.schedule.decisions,
                       ParseDecisions(fmt::format("{}", fmt::join(set, " "))));
  if (fields.Has("lowered")) {
    TCC_ASSIGN_OR_RETURN(trial.lowered_key, fields.Text("lowered"));
  }
  TCC_ASSIGN_OR_RETURN(trial.measurement, MeasurementIn(fields));
  TCC_ASSIGN_OR_RETURN(trial.build_seconds, fields.Amount("build_seconds"));
  TCC_ASSIGN_OR_RETURN(trial.searcher, fields.Text("searcher"));
  return trial;
}

Status ImportVariant(SqliteConnection& connection, const JsonFields& fields,
                     ImportSummary& summary) {
  TCC_ASSIGN_OR_RETURN(std::string key, fields.Text("function"));
  TCC_ASSIGN_OR_RETURN(std::string text, fields.Text("text"));
  TCC_ASSIGN_OR_RETURN(Function fn, ParseFunction(text));
  TCC_RETURN_IF_ERROR(Verify(fn));
  if (std::string found = FunctionKey(fn); found != key) {
    return InvalidInput("the function's key is '{}'; the line says '{}'", found, key);
  }
  TCC_RETURN_IF_ERROR(InsertVariant(connection, key, Print(fn)));
  summary.variants += connection.changed_rows();
  return OkStatus();
}

Status ImportWorkload(SqliteConnection& connection, const JsonFields& fields,
                      ImportSummary& summary) {
  StoredWorkload workload;
  TCC_ASSIGN_OR_RETURN(workload.key, fields.Text("workload"));
  TCC_ASSIGN_OR_RETURN(workload.name, fields.Text("name"));
  TCC_ASSIGN_OR_RETURN(workload.first_variant, fields.Text("first"));
  TCC_ASSIGN_OR_RETURN(workload.flops, fields.Amount("flops"));
  if (fields.Has("moved_bytes")) {
    TCC_ASSIGN_OR_RETURN(workload.moved_bytes, fields.Count("moved_bytes"));
  }
  for (const std::string& key : {workload.key, workload.first_variant}) {
    TCC_ASSIGN_OR_RETURN(std::optional<int64_t> known,
                         connection.QueryInt("SELECT 1 FROM variant WHERE key = ?", {key}));
    if (!known) return InvalidInput("function '{}' is not in the export", key);
  }
  TCC_ASSIGN_OR_RETURN(std::optional<int64_t> known, FindWorkload(connection, workload.key));
  if (!known) ++summary.workloads;
  return InsertWorkload(connection, workload).status();
}

// Workloads and environments of which a database has a comparison.
using Compared = std::set<std::pair<int64_t, int64_t>>;

StatusOr<Compared> ComparedIn(SqliteConnection& connection) {
  Compared compared;
  Status status = connection.Query(
      "SELECT DISTINCT s.workload, m.environment FROM measurement m "
      "JOIN candidate c ON c.id = m.candidate JOIN sketch s ON s.id = c.sketch WHERE m.series = ?",
      {kComparisonSeries}, [&](const SqlRow& row) {
        compared.emplace(row.Int(0), row.Int(1));
        return OkStatus();
      });
  if (!status.ok()) return status;
  return compared;
}

// A comparison is one whole: where there is one already, the import's is left out.
Status ImportRecord(SqliteConnection& connection, const JsonFields& fields,
                    const DatabaseImportOptions& options, const Compared& compared,
                    ImportSummary& summary) {
  TCC_ASSIGN_OR_RETURN(StoredTrial trial, TrialIn(fields));
  TCC_ASSIGN_OR_RETURN(Environment environment, EnvironmentIn(fields, options));
  TCC_ASSIGN_OR_RETURN(std::string key, fields.Text("workload"));
  TCC_ASSIGN_OR_RETURN(std::optional<int64_t> workload, FindWorkload(connection, key));
  if (!workload) return InvalidInput("workload '{}' is not in the export", key);
  TrialPlace place{.workload = *workload};
  TCC_ASSIGN_OR_RETURN(place.series, fields.Count("series", 1));
  TCC_ASSIGN_OR_RETURN(place.at, fields.Count("at"));
  TCC_ASSIGN_OR_RETURN(place.environment, InsertEnvironment(connection, environment));
  bool is_left_out =
      place.series == kComparisonSeries && compared.contains({place.workload, place.environment});
  bool is_new = false;
  if (!is_left_out) {
    TCC_ASSIGN_OR_RETURN(is_new, InsertTrial(connection, place, trial));
  }
  ++(is_new ? summary.records : summary.known);
  return OkStatus();
}

Status ImportLine(SqliteConnection& connection, absl::string_view line,
                  const DatabaseImportOptions& options, const Compared& compared,
                  ImportSummary& summary) {
  TCC_ASSIGN_OR_RETURN(nlohmann::json object, ParseLine(line));
  JsonFields fields(object);
  if (fields.Has("fn")) return ImportRecord(connection, fields, options, compared, summary);
  if (fields.Has("function")) return ImportVariant(connection, fields, summary);
  if (fields.Has("workload")) return ImportWorkload(connection, fields, summary);
  return InvalidInput("expected a line with 'function', 'workload' or 'fn'");
}

// Returns the number of records that the last line tells.
StatusOr<int64_t> CheckSum(std::string_view text, absl::string_view last_line) {
  TCC_ASSIGN_OR_RETURN(nlohmann::json object, ParseLine(last_line));
  JsonFields fields(object);
  TCC_ASSIGN_OR_RETURN(std::string told, fields.Text("sha256"));
  std::string found = ToHex(Sha256(text.substr(0, text.size() - last_line.size() - 1)));
  if (told != found) {
    return InvalidInput("the checksum of the lines before is '{}'; the line says '{}'", found,
                        told);
  }
  return fields.Whole("records");
}

}  // namespace

StatusOr<std::string> ExportText(const Database& database) {
  SqliteConnection& connection = database.connection();
  std::string text;
  // One view of the file for all three.
  TCC_RETURN_IF_ERROR(connection.Run("BEGIN"));
  Status status = ExportVariants(connection, text);
  if (status.ok()) status = ExportWorkloads(connection, text);
  int64_t records = 0;
  if (status.ok()) status = ExportRecords(connection, text, records);
  TCC_RETURN_IF_ERROR(connection.Run("ROLLBACK"));
  if (!status.ok()) return status;
  std::string sum = ToHex(Sha256(text));
  return text + LineText({{"records", records}, {"sha256", sum}});
}

StatusOr<ImportSummary> ImportText(Database& database, const std::string& text,
                                   const DatabaseImportOptions& options) {
  if (!text.ends_with('\n')) {
    return InvalidInput("the export has no whole last line with its checksum");
  }
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  lines.pop_back();  // what comes after the last line's end
  StatusOr<int64_t> told = CheckSum(text, lines.back());
  if (!told.ok()) return Annotate(told.status(), fmt::format("line {}", lines.size()));

  SqliteConnection& connection = database.connection();
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection));
  TCC_ASSIGN_OR_RETURN(Compared compared, ComparedIn(connection));
  ImportSummary summary;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    Status status = ImportLine(connection, lines[i], options, compared, summary);
    if (!status.ok()) return Annotate(status, fmt::format("line {}", i + 1));
  }
  if (int64_t records = summary.records + summary.known; records != *told) {
    return InvalidInput("line {}: the export has {} records; the line says {}", lines.size(),
                        records, *told);
  }
  TCC_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

StatusOr<ImportSummary> MergeDatabase(Database& into, const std::string& path) {
  TCC_ASSIGN_OR_RETURN(Database from, Database::Open(path, Database::Access::kRead));
  TCC_ASSIGN_OR_RETURN(std::string text, ExportText(from));
  StatusOr<ImportSummary> summary = ImportText(into, text, {.keep_measurer = true});
  if (!summary.ok()) return Annotate(summary.status(), fmt::format("database '{}'", path));
  return summary;
}

}  // namespace tcc
