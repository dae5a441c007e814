#include "search/database/database_rows.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>

#include <cmath>
#include <limits>

#include "search/database/schema.h"
#include "support/check.h"
#include "support/sha256.h"

namespace tcc {
namespace {

// A worker's figures may be anything, and a text form has no infinities: a figure that is no number
// counts as the worst.
double Finite(double value) {
  constexpr double kWorst = std::numeric_limits<double>::max();
  return std::isfinite(value) ? value : kWorst;
}

SqlValue OrNull(bool present, SqlValue value) {
  return present ? std::move(value) : SqlValue(nullptr);
}

// The number of a row that `select` finds, or that `insert` makes.
StatusOr<int64_t> FindOrInsert(SqliteConnection& connection, const std::string& select,
                               const SqlValues& key, const std::string& insert,
                               const SqlValues& values) {
  TCC_ASSIGN_OR_RETURN(std::optional<int64_t> id, connection.QueryInt(select, key));
  if (id) return *id;
  TCC_RETURN_IF_ERROR(connection.Run(insert, values));
  TCC_ASSIGN_OR_RETURN(id, connection.QueryInt(select, key));
  TCC_CHECK(id.has_value()) << insert;
  return *id;
}

Status CheckTrial(SqliteConnection& connection, const StoredTrial& trial) {
  const Measurement& measured = trial.measurement;
  if (measured.status == MeasureStatus::kOk &&
      !(std::isfinite(measured.seconds) && measured.seconds > 0)) {
    return InvalidInput("a measurement that is ok takes {} seconds; expected more than 0",
                        measured.seconds);
  }
  TCC_ASSIGN_OR_RETURN(
      std::optional<int64_t> known,
      connection.QueryInt("SELECT 1 FROM variant WHERE key = ?", {trial.variant_key}));
  if (!known) return InvalidInput("variant '{}' is not in the database", trial.variant_key);
  return OkStatus();
}

}  // namespace

std::string EnvironmentKey(const Environment& environment) {
  std::string text;
  for (const std::string& field :
       {environment.tcc, environment.target, environment.device, environment.measurer,
        environment.policy, environment.compilers, std::to_string(environment.threads)}) {
    text += fmt::format("{}:{}\n", field.size(), field);
  }
  return ToHex(Sha256(text));
}

Environment EnvironmentAt(const SqlRow& row, int first) {
  return {.tcc = row.Text(first),
          .target = row.Text(first + 1),
          .device = row.Text(first + 2),
          .measurer = row.Text(first + 3),
          .policy = row.Text(first + 4),
          .compilers = row.Text(first + 5),
          .threads = static_cast<int>(row.Int(first + 6))};
}

std::string DecisionsText(const Decisions& decisions) {
  std::string text;
  for (const auto& [name, value] : decisions) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

StatusOr<Decisions> ParseDecisions(const std::string& text) {
  Decisions decisions;
  if (text.empty()) return decisions;
  for (const auto& word : absl::StrSplit(text, ' ')) {
    size_t equals = word.rfind('=');
    int64_t value = 0;
    if (equals == 0 || equals == word.npos || !absl::SimpleAtoi(word.substr(equals + 1), &value)) {
      return InvalidInput("decision '{}'; expected NAME=VALUE", std::string(word));
    }
    std::string name(word.substr(0, equals));
    if (!decisions.emplace(name, value).second) return InvalidInput("'{}' is set twice", name);
  }
  return decisions;
}

StoredWorkload StoredWorkloadOf(const Workload& workload) {
  TCC_CHECK(workload.variants.size() == workload.variant_keys.size());
  TCC_CHECK(workload.first_variant < workload.variants.size());
  return {.key = workload.key,
          .name = workload.name,
          .first_variant = workload.variant_keys[workload.first_variant],
          .flops = workload.flops,
          .moved_bytes = workload.moved_bytes};
}

StatusOr<std::optional<int64_t>> FindEnvironment(SqliteConnection& connection,
                                                 const Environment& environment) {
  return connection.QueryInt("SELECT id FROM environment WHERE key = ?",
                             {EnvironmentKey(environment)});
}

StatusOr<std::optional<int64_t>> FindWorkload(SqliteConnection& connection,
                                              const std::string& key) {
  return connection.QueryInt("SELECT id FROM workload WHERE key = ?", {key});
}

StatusOr<int64_t> InsertEnvironment(SqliteConnection& connection, const Environment& environment) {
  std::string key = EnvironmentKey(environment);
  return FindOrInsert(
      connection, "SELECT id FROM environment WHERE key = ?", {key},
      "INSERT INTO environment(key, tcc, target, device, measurer, policy, "
      "compilers, threads) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
      {key, environment.tcc, environment.target, environment.device, environment.measurer,
       environment.policy, environment.compilers, int64_t{environment.threads}});
}

Status InsertVariant(SqliteConnection& connection, const std::string& key,
                     const std::string& text) {
  return connection.Run("INSERT OR IGNORE INTO variant(key, text) VALUES(?, ?)", {key, text});
}

StatusOr<int64_t> InsertWorkload(SqliteConnection& connection, const StoredWorkload& workload) {
  return FindOrInsert(
      connection, "SELECT id FROM workload WHERE key = ?", {workload.key},
      "INSERT INTO workload(key, name, first_variant, flops, moved_bytes) VALUES(?, ?, ?, ?, ?)",
      {workload.key, workload.name, workload.first_variant, Finite(workload.flops),
       OrNull(workload.moved_bytes.has_value(), workload.moved_bytes.value_or(0))});
}

StatusOr<int64_t> InsertCandidate(SqliteConnection& connection, int64_t workload,
                                  const StoredTrial& trial) {
  std::string trace = Print(trial.schedule.trace);
  std::string key = ToHex(Sha256(trial.variant_key + "\n" + trace));
  TCC_ASSIGN_OR_RETURN(
      int64_t sketch,
      FindOrInsert(connection, "SELECT id FROM sketch WHERE workload = ? AND key = ?",
                   {workload, key},
                   "INSERT INTO sketch(workload, variant_key, rules, trace, key) "
                   "VALUES(?, ?, ?, ?, ?)",
                   {workload, trial.variant_key, trial.rules, trace, key}));
  std::string decisions = DecisionsText(trial.schedule.decisions);
  SqlValue lowered = OrNull(!trial.lowered_key.empty(), trial.lowered_key);
  TCC_ASSIGN_OR_RETURN(
      int64_t candidate,
      FindOrInsert(connection, "SELECT id FROM candidate WHERE sketch = ? AND decisions = ?",
                   {sketch, decisions},
                   "INSERT INTO candidate(sketch, decisions, lowered_key) VALUES(?, ?, ?)",
                   {sketch, decisions, lowered}));
  TCC_RETURN_IF_ERROR(
      connection.Run("UPDATE candidate SET lowered_key = ?1 "
                     "WHERE id = ?2 AND lowered_key IS NULL AND ?1 IS NOT NULL",
                     {lowered, candidate}));
  return candidate;
}

StatusOr<bool> InsertTrial(SqliteConnection& connection, const TrialPlace& place,
                           const StoredTrial& trial) {
  TCC_RETURN_IF_ERROR(CheckTrial(connection, trial));
  TCC_ASSIGN_OR_RETURN(int64_t candidate, InsertCandidate(connection, place.workload, trial));
  const Measurement& measured = trial.measurement;
  TCC_RETURN_IF_ERROR(connection.Run(
      "INSERT INTO measurement(candidate, environment, series, status, seconds, spread, calls, "
      "error, canary, build_seconds, searcher, message, at) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT(candidate, environment, series) DO NOTHING",
      {candidate, place.environment, place.series, std::string(NameOf(measured.status)),
       OrNull(measured.seconds != 0, Finite(measured.seconds)), Finite(measured.spread),
       measured.calls, Finite(measured.error), Finite(measured.canary), Finite(trial.build_seconds),
       trial.searcher, measured.message, place.at}));
  return connection.changed_rows() == 1;
}

StatusOr<Measurement> MeasurementAt(const SqlRow& row, int first) {
  std::optional<MeasureStatus> status = FindMeasureStatus(row.Text(first));
  if (!status) return InvalidInput("status '{}' is not known", row.Text(first));
  return Measurement{.status = *status,
                     .seconds = row.Real(first + 1),
                     .spread = row.Real(first + 2),
                     .calls = row.Int(first + 3),
                     .error = row.Real(first + 4),
                     .canary = row.Real(first + 5),
                     .message = row.Text(first + 6)};
}

}  // namespace tcc
