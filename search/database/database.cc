#include "search/database/database.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "ir/text/printer.h"
#include "runtime/measure/measure_protocol.h"
#include "search/database/database_file.h"
#include "search/database/database_rows.h"
#include "search/database/schema.h"
#include "support/check.h"

namespace tcc {
namespace {

int64_t MicrosecondsSince1970() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// The part of a measurement that Best weighs.
struct Entry {
  int64_t measurement = 0;
  int64_t environment = 0;
  int64_t threads = 1;
  int64_t series = 0;
  bool is_ok = false;  // or slow
  double seconds = 0;
  bool is_constructed = false;
  std::string policy = {};
};

// By the key of the workload, in the order in which they were recorded.
StatusOr<std::map<std::string, std::vector<Entry>>> EntriesFor(SqliteConnection& connection,
                                                               const Environment& wanted) {
  std::map<std::string, std::vector<Entry>> entries;
  Status status = connection.Query(
      "SELECT w.key, m.id, e.id, e.threads, m.series, m.status = 'ok', m.seconds, "
      "m.searcher = 'constructed', e.policy "
      "FROM measurement m JOIN environment e ON e.id = m.environment "
      "JOIN candidate c ON c.id = m.candidate JOIN sketch s ON s.id = c.sketch "
      "JOIN workload w ON w.id = s.workload "
      "WHERE e.target = ? AND e.device = ? AND e.measurer = ? AND m.seconds > 0 "
      "AND (m.status = 'ok' OR (m.status = 'slow' AND m.searcher = 'constructed')) ORDER BY m.id",
      {wanted.target, wanted.device, wanted.measurer}, [&](const SqlRow& row) {
        entries[row.Text(0)].push_back({.measurement = row.Int(1),
                                        .environment = row.Int(2),
                                        .threads = row.Int(3),
                                        .series = row.Int(4),
                                        .is_ok = row.Int(5) != 0,
                                        .seconds = row.Real(6),
                                        .is_constructed = row.Int(7) != 0,
                                        .policy = row.Text(8)});
        return OkStatus();
      });
  if (!status.ok()) return status;
  return entries;
}

// Removes what was measured on another number of threads than the nearest that has an ok trial.
void KeepNearestThreads(std::vector<Entry>& entries, int threads) {
  std::optional<int64_t> nearest;
  auto distance = [&](const Entry& entry) { return std::abs(entry.threads - threads); };
  for (const Entry& entry : entries) {
    if (entry.is_ok && (!nearest || distance(entry) < *nearest)) nearest = distance(entry);
  }
  std::erase_if(entries, [&](const Entry& entry) { return distance(entry) != nearest; });
}

// Returns the place of a policy in the order of preference: in the network first, then the wanted
// one, then by how many of the operands are cold, since in a network others' are in the caches.
size_t RankOf(std::string_view policy, std::string_view wanted) {
  constexpr std::string_view kByPreference[] = {"rotate-weights-", "rotate-", "warm"};
  if (policy == NameOf(MeasurePolicy::kInPlace)) return 0;
  if (policy == wanted) return 1;
  auto found = std::ranges::find_if(
      kByPreference, [&](std::string_view prefix) { return policy.starts_with(prefix); });
  return 2 + static_cast<size_t>(found - std::begin(kByPreference));
}

// Removes the measurements of a search by all policies but the preferred one of those by which a
// searcher's candidate was timed: operands that stay in the caches make any kernel faster, and say
// nothing about which is faster where they do not.
void KeepPreferredPolicy(std::vector<Entry>& entries, std::string_view wanted) {
  const Entry* preferred = nullptr;
  for (const Entry& entry : entries) {
    if (!entry.is_ok || entry.is_constructed || entry.series != kSearchSeries) continue;
    if (!preferred || RankOf(entry.policy, wanted) < RankOf(preferred->policy, wanted)) {
      preferred = &entry;
    }
  }
  if (!preferred) return;
  std::string policy = preferred->policy;
  std::erase_if(entries, [&](const Entry& entry) {
    return entry.series == kSearchSeries && entry.policy != policy;
  });
}

// The first of the least ok ones, in one environment where it is given; nullptr: there is none.
const Entry* LeastOf(const std::vector<Entry>& entries, int64_t series,
                     std::optional<int64_t> environment = std::nullopt) {
  const Entry* least = nullptr;
  for (const Entry& entry : entries) {
    if (!entry.is_ok || entry.series != series) continue;
    if (environment && entry.environment != *environment) continue;
    if (!least || entry.seconds < least->seconds) least = &entry;
  }
  return least;
}

// The environment of the latest comparison.
std::optional<int64_t> ComparedIn(const std::vector<Entry>& entries) {
  std::optional<int64_t> environment;
  for (const Entry& entry : entries) {
    if (entry.series == kComparisonSeries) environment = entry.environment;
  }
  return environment;
}

bool BeatsConstructed(const Entry& best, const std::vector<Entry>& entries) {
  std::optional<double> constructed;
  for (const Entry& entry : entries) {
    bool counts = entry.is_constructed && entry.series == kSearchSeries &&
                  entry.environment == best.environment;
    if (counts) constructed = std::min(constructed.value_or(entry.seconds), entry.seconds);
  }
  return constructed && best.seconds < kMinGain * *constructed;
}

// The measurement that decides about a workload, if it is to be used.
const Entry* WinnerOf(std::vector<Entry>& entries, const Environment& wanted) {
  KeepNearestThreads(entries, wanted.threads);
  if (std::optional<int64_t> environment = ComparedIn(entries)) {
    const Entry* compared = LeastOf(entries, kComparisonSeries, environment);
    return compared && !compared->is_constructed ? compared : nullptr;
  }
  KeepPreferredPolicy(entries, wanted.policy);
  const Entry* best = LeastOf(entries, kSearchSeries);
  return best && BeatsConstructed(*best, entries) ? best : nullptr;
}

bool IsAlive(pid_t process) {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

StatusOr<Schedule> ScheduleOf(const std::string& trace, const std::string& decisions) {
  Schedule schedule;
  TCC_ASSIGN_OR_RETURN(schedule.trace, ParseTrace(trace));
  TCC_ASSIGN_OR_RETURN(schedule.decisions, ParseDecisions(decisions));
  return schedule;
}

}  // namespace

struct Database::State {
  OpenedDatabase file;

  void Warn(const std::string& what, const Status& why) {
    file.warnings.push_back(fmt::format("database '{}': {} is left out: {}", file.connection.path(),
                                        what, Message(why)));
  }
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() = default;
Database::Database(Database&& other) noexcept = default;
Database& Database::operator=(Database&& other) noexcept = default;

StatusOr<Database> Database::Open(const std::string& path, Access access) {
  StatusOr<OpenedDatabase> file =
      access == Access::kRead ? OpenDatabaseForReading(path) : OpenDatabaseForWriting(path);
  if (!file.ok()) return file.status();
  return Database(std::make_unique<State>(State{*std::move(file)}));
}

const std::vector<std::string>& Database::warnings() const {
  return state_->file.warnings;
}

SqliteConnection& Database::connection() const {
  return state_->file.connection;
}

StatusOr<int64_t> Database::EnvironmentId(const Environment& environment) {
  TCC_ASSIGN_OR_RETURN(std::optional<int64_t> known, FindEnvironment(connection(), environment));
  if (known) return *known;
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection()));
  TCC_ASSIGN_OR_RETURN(int64_t id, InsertEnvironment(connection(), environment));
  TCC_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

StatusOr<int64_t> Database::WorkloadId(const Workload& workload) {
  const StoredWorkload stored = StoredWorkloadOf(workload);
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection()));
  for (size_t i = 0; i < workload.variants.size(); ++i) {
    TCC_RETURN_IF_ERROR(
        InsertVariant(connection(), workload.variant_keys[i], Print(workload.variants[i])));
  }
  TCC_ASSIGN_OR_RETURN(int64_t id, InsertWorkload(connection(), stored));
  TCC_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

Status Database::Record(int64_t workload, int64_t environment, const StoredTrial& trial) {
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection()));
  TrialPlace place{workload, environment, kSearchSeries, MicrosecondsSince1970()};
  TCC_RETURN_IF_ERROR(InsertTrial(connection(), place, trial).status());
  return transaction.Commit();
}

Status Database::RecordComparison(int64_t workload, int64_t environment,
                                  std::span<const StoredTrial> trials) {
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection()));
  TCC_RETURN_IF_ERROR(connection().Run(
      "DELETE FROM measurement WHERE series = ? AND environment = ? AND candidate IN (SELECT c.id "
      "FROM candidate c JOIN sketch s ON s.id = c.sketch WHERE s.workload = ?)",
      {kComparisonSeries, environment, workload}));
  TrialPlace place{workload, environment, kComparisonSeries, MicrosecondsSince1970()};
  for (const StoredTrial& trial : trials) {
    TCC_RETURN_IF_ERROR(InsertTrial(connection(), place, trial).status());
  }
  return transaction.Commit();
}

StatusOr<std::vector<StoredTrial>> Database::TrialsOf(int64_t workload, int64_t environment) const {
  std::map<int64_t, StoredTrial> sketches;  // parsed once: many trials share one
  TCC_RETURN_IF_ERROR(
      connection().Query("SELECT id, variant_key, rules, trace FROM sketch WHERE workload = ?",
                         {workload}, [&](const SqlRow& row) {
                           StatusOr<Trace> trace = ParseTrace(row.Text(3));
                           if (!trace.ok()) {
                             state_->Warn(fmt::format("sketch {}", row.Int(0)), trace.status());
                             return OkStatus();
                           }
                           StoredTrial& sketch = sketches[row.Int(0)];
                           sketch.variant_key = row.Text(1);
                           sketch.rules = row.Text(2);
                           sketch.schedule.trace = *std::move(trace);
                           return OkStatus();
                         }));

  std::vector<StoredTrial> trials;
  std::string query = fmt::format(
      "SELECT s.id, c.decisions, c.lowered_key, m.build_seconds, m.searcher, m.id, {} "
      "FROM sketch s JOIN candidate c ON c.sketch = s.id JOIN measurement m ON m.candidate = c.id "
      "WHERE s.workload = ? AND m.environment = ? AND m.series = 0 ORDER BY m.id",
      kMeasurementColumns);
  TCC_RETURN_IF_ERROR(connection().Query(query, {workload, environment}, [&](const SqlRow& row) {
    auto sketch = sketches.find(row.Int(0));
    if (sketch == sketches.end()) return OkStatus();
    StatusOr<Decisions> decisions = ParseDecisions(row.Text(1));
    StatusOr<Measurement> measurement = MeasurementAt(row, 6);
    Status status = decisions.ok() ? measurement.status() : decisions.status();
    if (status.ok() && measurement->status == MeasureStatus::kOk && !(measurement->seconds > 0)) {
      status = InvalidInput("it is ok without seconds");
    }
    if (!status.ok()) {
      state_->Warn(fmt::format("measurement {}", row.Int(5)), status);
      return OkStatus();
    }
    StoredTrial& trial = trials.emplace_back(sketch->second);
    trial.schedule.decisions = *std::move(decisions);
    trial.lowered_key = row.Text(2);
    trial.measurement = *std::move(measurement);
    trial.build_seconds = row.Real(3);
    trial.searcher = row.Text(4);
    return OkStatus();
  }));
  return trials;
}

Status Database::BeginBuild(int64_t workload, std::span<const StoredTrial> candidates) {
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection()));
  for (const StoredTrial& candidate : candidates) {
    TCC_ASSIGN_OR_RETURN(int64_t id, InsertCandidate(connection(), workload, candidate));
    TCC_RETURN_IF_ERROR(
        connection().Run("INSERT OR REPLACE INTO in_flight(candidate, pid, batch) VALUES(?, ?, ?)",
                         {id, int64_t{::getpid()}, std::ssize(candidates)}));
  }
  return transaction.Commit();
}

Status Database::EndBuild(int64_t workload) {
  return connection().Run(
      "DELETE FROM in_flight WHERE pid = ? AND candidate IN (SELECT c.id FROM candidate c "
      "JOIN sketch s ON s.id = c.sketch WHERE s.workload = ?)",
      {int64_t{::getpid()}, workload});
}

StatusOr<std::vector<Suspect>> Database::TakeSuspects(int64_t workload) {
  std::vector<Suspect> suspects;
  std::vector<int64_t> rows;
  TCC_ASSIGN_OR_RETURN(SqliteTransaction transaction, SqliteTransaction::Begin(connection()));
  TCC_RETURN_IF_ERROR(connection().Query(
      "SELECT f.candidate, f.pid, f.batch, s.variant_key, s.rules, s.trace, c.decisions "
      "FROM in_flight f JOIN candidate c ON c.id = f.candidate JOIN sketch s ON s.id = c.sketch "
      "WHERE s.workload = ? ORDER BY f.candidate",
      {workload}, [&](const SqlRow& row) {
        if (IsAlive(static_cast<pid_t>(row.Int(1)))) return OkStatus();
        rows.push_back(row.Int(0));
        StatusOr<Schedule> schedule = ScheduleOf(row.Text(5), row.Text(6));
        if (!schedule.ok()) return OkStatus();  // of another version, which built it
        Suspect& suspect = suspects.emplace_back();
        suspect.candidate.variant_key = row.Text(3);
        suspect.candidate.rules = row.Text(4);
        suspect.candidate.schedule = *std::move(schedule);
        suspect.batch = row.Int(2);
        return OkStatus();
      }));
  for (int64_t row : rows) {
    TCC_RETURN_IF_ERROR(connection().Run("DELETE FROM in_flight WHERE candidate = ?", {row}));
  }
  TCC_RETURN_IF_ERROR(transaction.Commit());
  return suspects;
}

StatusOr<std::vector<StoredTrial>> Database::ImportedTrialsOf(int64_t workload,
                                                              const std::string& target,
                                                              int64_t most) const {
  std::vector<StoredTrial> trials;
  std::string query = fmt::format(
      "SELECT s.variant_key, s.rules, s.trace, c.decisions, {} "
      "FROM sketch s JOIN candidate c ON c.sketch = s.id JOIN measurement m ON m.candidate = c.id "
      "JOIN environment e ON e.id = m.environment "
      "WHERE s.workload = ? AND e.target = ? AND e.measurer LIKE 'import:%' AND m.status = 'ok' "
      "GROUP BY c.id ORDER BY min(m.seconds), c.id LIMIT ?",
      kMeasurementColumns);
  TCC_RETURN_IF_ERROR(connection().Query(query, {workload, target, most}, [&](const SqlRow& row) {
    StatusOr<Schedule> schedule = ScheduleOf(row.Text(2), row.Text(3));
    StatusOr<Measurement> measurement = MeasurementAt(row, 4);
    if (!schedule.ok() || !measurement.ok()) return OkStatus();
    StoredTrial& trial = trials.emplace_back();
    trial.variant_key = row.Text(0);
    trial.rules = row.Text(1);
    trial.schedule = *std::move(schedule);
    trial.measurement = *std::move(measurement);
    return OkStatus();
  }));
  return trials;
}

StatusOr<std::vector<RecordedDevice>> Database::DevicesOf(const std::string& target) const {
  std::vector<RecordedDevice> devices;
  TCC_RETURN_IF_ERROR(connection().Query(
      "SELECT e.device, COUNT(DISTINCT s.workload) AS workloads FROM measurement m "
      "JOIN environment e ON e.id = m.environment JOIN candidate c ON c.id = m.candidate "
      "JOIN sketch s ON s.id = c.sketch WHERE e.target = ? AND m.status = 'ok' "
      "GROUP BY e.device ORDER BY workloads DESC, e.device",
      {target}, [&](const SqlRow& row) {
        devices.push_back({.device = row.Text(0), .workloads = row.Int(1)});
        return OkStatus();
      }));
  return devices;
}

StatusOr<TunedSchedules> Database::Best(const Environment& wanted) const {
  TCC_ASSIGN_OR_RETURN(auto entries, EntriesFor(connection(), wanted));
  Environment elsewhere = wanted;
  elsewhere.measurer = kImportPrefix + wanted.measurer;
  TCC_ASSIGN_OR_RETURN(auto imported, EntriesFor(connection(), elsewhere));
  entries.merge(imported);
  TunedSchedules best;
  for (auto& [key, of_workload] : entries) {
    const Entry* winner = WinnerOf(of_workload, wanted);
    if (!winner) continue;
    TCC_RETURN_IF_ERROR(connection().Query(
        "SELECT s.variant_key, s.rules, s.trace, c.decisions, w.name FROM measurement m "
        "JOIN candidate c ON c.id = m.candidate JOIN sketch s ON s.id = c.sketch "
        "JOIN workload w ON w.id = s.workload WHERE m.id = ?",
        {winner->measurement}, [&, &key = key](const SqlRow& row) {
          StatusOr<Schedule> schedule = ScheduleOf(row.Text(2), row.Text(3));
          if (!schedule.ok()) {
            state_->Warn(fmt::format("the best record of '{}'", row.Text(4)), schedule.status());
            return OkStatus();
          }
          best[key] = {.variant_key = row.Text(0),
                       .rules = row.Text(1),
                       .schedule = *std::move(schedule),
                       .seconds = winner->seconds};
          return OkStatus();
        }));
  }
  return best;
}

}  // namespace tcc
