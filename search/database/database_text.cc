#include "search/database/database_text.h"

#include <absl/strings/str_split.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/analysis/canonical.h"
#include "ir/analysis/verifier.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "runtime/measure/measurement_json.h"
#include "search/database/database_rows.h"
#include "search/database/record_lines.h"
#include "search/database/schema.h"
#include "support/json_fields.h"
#include "support/json_line.h"
#include "support/sha256.h"

namespace tcc {
namespace {

using Line = nlohmann::ordered_json;

Status ExportVariants(SqliteConnection& connection, std::string& text) {
  return connection.Query("SELECT key, text FROM variant ORDER BY key", {}, [&](const SqlRow& row) {
    text += VariantLine(row.Text(0), row.Text(1));
    return OkStatus();
  });
}

Status ExportWorkloads(SqliteConnection& connection, std::string& text) {
  const char* query =
      "SELECT key, name, first_variant, flops, moved_bytes FROM workload ORDER BY key";
  return connection.Query(query, {}, [&](const SqlRow& row) {
    StoredWorkload workload{.key = row.Text(0),
                            .name = row.Text(1),
                            .first_variant = row.Text(2),
                            .flops = row.Real(3),
                            .moved_bytes = std::nullopt};
    if (!row.IsNull(4)) workload.moved_bytes = row.Int(4);
    text += WorkloadLine(workload);
    return OkStatus();
  });
}

constexpr const char* kRecordColumns =
    "s.variant_key, w.key, s.rules, s.trace, c.decisions, c.lowered_key, m.series, m.at, "
    "m.searcher, m.build_seconds, ";
constexpr int kRecordColumnCount = 10;

std::string RecordLine(const SqlRow& row, const Measurement& measured,
                       const Environment& environment) {
  Line line = CandidateFields({.variant_key = row.Text(0),
                               .workload = row.Text(1),
                               .rules = row.Text(2),
                               .trace = row.Text(3),
                               .decisions = row.Text(4),
                               .lowered_key = row.IsNull(5) ? "" : row.Text(5)});
  line.update(MeasurementFields(measured));
  line.update({{"build_seconds", row.Real(9)},
               {"searcher", row.Text(8)},
               {"series", row.Int(6)},
               {"at", row.Int(7)}});
  line.update(EnvironmentFields(environment));
  return JsonLine(line);
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
  TCC_ASSIGN_OR_RETURN(nlohmann::json object, ParseJsonLine({line.data(), line.size()}));
  JsonFields fields(object);
  if (fields.Has("fn")) return ImportRecord(connection, fields, options, compared, summary);
  if (fields.Has("function")) return ImportVariant(connection, fields, summary);
  if (fields.Has("workload")) return ImportWorkload(connection, fields, summary);
  return InvalidInput("expected a line with 'function', 'workload' or 'fn'");
}

// Returns the number of records that the last line tells.
StatusOr<int64_t> CheckSum(std::string_view text, absl::string_view last_line) {
  TCC_ASSIGN_OR_RETURN(nlohmann::json object, ParseJsonLine({last_line.data(), last_line.size()}));
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
  return text + ChecksumLine(text, records);
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
