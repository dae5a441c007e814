#include "search/database/database_report.h"

#include <cmath>

#include "ir/analysis/canonical.h"
#include "ir/analysis/verifier.h"
#include "ir/text/parser.h"
#include "search/database/database_rows.h"
#include "search/database/schema.h"
#include "support/sha256.h"

namespace tcc {
namespace {

Status CountRows(SqliteConnection& connection, const std::string& table, int64_t& count) {
  TCC_ASSIGN_OR_RETURN(std::optional<int64_t> rows,
                       connection.QueryInt("SELECT count(*) FROM " + table));
  count = rows.value_or(0);
  return OkStatus();
}

void AddTrial(BestRow& best, const std::string& status, double seconds,
              const std::string& searcher) {
  ++best.trials;
  if (seconds <= 0) return;
  bool is_ok = status == NameOf(MeasureStatus::kOk);
  bool is_right = is_ok || status == NameOf(MeasureStatus::kSlow);
  bool constructed = is_right && searcher == "constructed";
  if (constructed && (best.constructed_seconds == 0 || seconds < best.constructed_seconds)) {
    best.constructed_seconds = seconds;
  }
  if (is_ok && (best.best_seconds == 0 || seconds < best.best_seconds)) {
    best.best_seconds = seconds;
    best.searcher = searcher;
  }
}

StatusOr<Function> VariantOf(const std::string& key, const std::string& text) {
  TCC_ASSIGN_OR_RETURN(Function fn, ParseFunction(text));
  TCC_RETURN_IF_ERROR(Verify(fn));
  std::string found = FunctionKey(fn);
  if (found != key) return InvalidInput("the key of its text is '{}'", found);
  return fn;
}

Status ExpectKey(const std::string& key, const std::string& expected) {
  return key == expected ? OkStatus() : InvalidInput("its key is not that of its content");
}

// Whether no figure is negative or beyond numbers.
bool IsPlausible(const Measurement& measurement) {
  for (double figure : {measurement.seconds, measurement.spread, measurement.error,
                        measurement.canary, static_cast<double>(measurement.calls)}) {
    if (!std::isfinite(figure) || figure < 0) return false;
  }
  return true;
}

class Verification {
 public:
  explicit Verification(SqliteConnection& connection) : connection_(connection) {}

  // Error: the database cannot be read any further.
  Status Run() {
    TCC_RETURN_IF_ERROR(CheckFile());
    TCC_RETURN_IF_ERROR(CheckVariants());
    TCC_RETURN_IF_ERROR(CheckWorkloads());
    TCC_RETURN_IF_ERROR(CheckEnvironments());
    TCC_RETURN_IF_ERROR(CheckSketches());
    TCC_RETURN_IF_ERROR(CheckCandidates());
    return CheckMeasurements();
  }

  std::vector<std::string> problems;

 private:
  void Add(const Status& status, const std::string& what) {
    if (!status.ok()) problems.push_back(fmt::format("{}: {}", what, Message(status)));
  }

  // A check of SQLite's says "ok" where nothing is wrong.
  Status CheckFile() {
    TCC_RETURN_IF_ERROR(connection_.Query("PRAGMA quick_check", {}, [&](const SqlRow& row) {
      if (row.Text(0) != "ok") problems.push_back(row.Text(0));
      return OkStatus();
    }));
    return connection_.Query("PRAGMA foreign_key_check", {}, [&](const SqlRow& row) {
      problems.push_back(
          fmt::format("{} {} refers to no row of {}", row.Text(0), row.Int(1), row.Text(2)));
      return OkStatus();
    });
  }

  Status CheckVariants() {
    const char* query = "SELECT key, text FROM variant ORDER BY key";
    return connection_.Query(query, {}, [&](const SqlRow& row) {
      StatusOr<Function> fn = VariantOf(row.Text(0), row.Text(1));
      Add(fn.status(), fmt::format("variant '{}'", row.Text(0)));
      if (fn.ok()) variants_.emplace(row.Text(0), *std::move(fn));
      return OkStatus();
    });
  }

  Status CheckWorkloads() {
    const char* query =
        "SELECT w.id, w.key FROM workload w LEFT JOIN variant v ON v.key = w.key "
        "WHERE v.key IS NULL ORDER BY w.id";
    return connection_.Query(query, {}, [&](const SqlRow& row) {
      problems.push_back(
          fmt::format("workload {}: there is no variant '{}'", row.Int(0), row.Text(1)));
      return OkStatus();
    });
  }

  Status CheckEnvironments() {
    std::string query =
        fmt::format("SELECT {}, e.id, e.key FROM environment e ORDER BY e.id", kEnvironmentColumns);
    return connection_.Query(query, {}, [&](const SqlRow& row) {
      Add(ExpectKey(row.Text(kEnvironmentColumnCount + 1), EnvironmentKey(EnvironmentAt(row, 0))),
          fmt::format("environment {}", row.Int(kEnvironmentColumnCount)));
      return OkStatus();
    });
  }

  Status CheckSketches() {
    const char* query = "SELECT id, variant_key, trace, key FROM sketch ORDER BY id";
    return connection_.Query(query, {}, [&](const SqlRow& row) {
      std::string what = fmt::format("sketch {}", row.Int(0));
      Add(ExpectKey(row.Text(3), ToHex(Sha256(row.Text(1) + "\n" + row.Text(2)))), what);
      StatusOr<Trace> trace = ParseTrace(row.Text(2));
      Add(trace.status(), what);
      if (trace.ok()) traces_.emplace(row.Int(0), *std::move(trace));
      return OkStatus();
    });
  }

  Status CheckCandidates() {
    const char* query =
        "SELECT c.id, c.decisions, c.sketch, s.variant_key, EXISTS(SELECT 1 FROM measurement m "
        "WHERE m.candidate = c.id AND m.status = 'ok') "
        "FROM candidate c JOIN sketch s ON s.id = c.sketch ORDER BY c.id";
    return connection_.Query(query, {}, [&](const SqlRow& row) {
      std::string what = fmt::format("candidate {}", row.Int(0));
      StatusOr<Decisions> decisions = ParseDecisions(row.Text(1));
      Add(decisions.status(), what);
      auto variant = variants_.find(row.Text(3));
      auto trace = traces_.find(row.Int(2));
      bool is_right = row.Int(4) != 0;
      if (!decisions.ok() || !is_right || variant == variants_.end() || trace == traces_.end()) {
        return OkStatus();
      }
      Add(Replay(variant->second, trace->second, *decisions).status(), what);
      return OkStatus();
    });
  }

  Status CheckMeasurements() {
    std::string query = fmt::format("SELECT {}, m.id, m.series FROM measurement m ORDER BY m.id",
                                    kMeasurementColumns);
    return connection_.Query(query, {}, [&](const SqlRow& row) {
      std::string what = fmt::format("measurement {}", row.Int(kMeasurementColumnCount));
      StatusOr<Measurement> measurement = MeasurementAt(row, 0);
      Add(measurement.status(), what);
      bool timed = measurement.ok() && measurement->status == MeasureStatus::kOk;
      if (timed && !(measurement->seconds > 0)) Add(InvalidInput("it is ok without seconds"), what);
      if (measurement.ok() && !IsPlausible(*measurement)) {
        Add(InvalidInput("a figure is negative or no number"), what);
      }
      int64_t series = row.Int(kMeasurementColumnCount + 1);
      if (series != kSearchSeries && series != kComparisonSeries) {
        Add(InvalidInput("there is no series {}", series), what);
      }
      return OkStatus();
    });
  }

  SqliteConnection& connection_;
  std::map<std::string, Function> variants_;  // by key, those without a problem
  std::map<int64_t, Trace> traces_;           // by sketch
};

}  // namespace

StatusOr<DatabaseStats> StatsOf(const Database& database) {
  SqliteConnection& connection = database.connection();
  DatabaseStats stats;
  TCC_RETURN_IF_ERROR(CountRows(connection, "variant", stats.variants));
  TCC_RETURN_IF_ERROR(CountRows(connection, "workload", stats.workloads));
  TCC_RETURN_IF_ERROR(CountRows(connection, "environment", stats.environments));
  TCC_RETURN_IF_ERROR(CountRows(connection, "sketch", stats.sketches));
  TCC_RETURN_IF_ERROR(CountRows(connection, "candidate", stats.candidates));
  TCC_RETURN_IF_ERROR(CountRows(connection, "measurement", stats.measurements));
  TCC_RETURN_IF_ERROR(connection.Query("SELECT status, count(*) FROM measurement GROUP BY status",
                                       {}, [&](const SqlRow& row) {
                                         stats.measurements_by_status[row.Text(0)] = row.Int(1);
                                         return OkStatus();
                                       }));
  return stats;
}

StatusOr<std::vector<BestRow>> BestRowsOf(const Database& database) {
  std::vector<BestRow> rows;
  std::pair<int64_t, int64_t> last{};  // workload, environment
  std::string query = fmt::format(
      "SELECT w.id, e.id, w.key, w.name, m.status, m.seconds, m.searcher, {} FROM measurement m "
      "JOIN candidate c ON c.id = m.candidate JOIN sketch s ON s.id = c.sketch "
      "JOIN workload w ON w.id = s.workload JOIN environment e ON e.id = m.environment "
      "WHERE m.series = 0 ORDER BY w.name, w.key, e.id, m.id",
      kEnvironmentColumns);
  TCC_RETURN_IF_ERROR(database.connection().Query(query, {}, [&](const SqlRow& row) {
    std::pair<int64_t, int64_t> place{row.Int(0), row.Int(1)};
    if (rows.empty() || place != last) {
      BestRow& added = rows.emplace_back();
      added.workload = row.Text(2);
      added.name = row.Text(3);
      added.environment = EnvironmentAt(row, 7);
    }
    last = place;
    AddTrial(rows.back(), row.Text(4), row.Real(5), row.Text(6));
    return OkStatus();
  }));
  return rows;
}

StatusOr<std::vector<std::string>> VerifyDatabase(const Database& database) {
  Verification verification(database.connection());
  Status status = verification.Run();
  // Damage may be such that not even the check comes to its end.
  if (!status.ok() && !IsDamage(status)) return status;
  if (!status.ok()) verification.problems.push_back(Message(status));
  return std::move(verification.problems);
}

}  // namespace tcc
