#include "search/database/database_report.h"

#include "search/database/database_rows.h"

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

}  // namespace tcc
