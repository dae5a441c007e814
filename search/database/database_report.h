#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "search/database/database.h"

// The reports of `tcc db stats`, `best` and `verify`.
namespace tcc {

struct DatabaseStats {
  int64_t variants = 0;
  int64_t workloads = 0;
  int64_t environments = 0;
  int64_t sketches = 0;
  int64_t candidates = 0;
  int64_t measurements = 0;
  std::map<std::string, int64_t> measurements_by_status;  // NameOf(MeasureStatus)
};
StatusOr<DatabaseStats> StatsOf(const Database& database);

// A workload in an environment, without its comparisons.
struct BestRow {
  std::string workload;  // key
  std::string name;
  Environment environment;
  int64_t trials = 0;
  double constructed_seconds = 0;  // 0: no such trial was timed
  double best_seconds = 0;         // 0: none was ok
  std::string searcher;            // the searcher of the best trial
};
// Returns rows by name, then in the order in which the environments were recorded.
StatusOr<std::vector<BestRow>> BestRowsOf(const Database& database);

// Returns the faults of a database, one line each: damaged pages, rows that refer to nothing, keys
// that do not match their content, functions that do not verify, texts that do not parse, schedules
// that were measured to be right and do not replay, figures out of range. Error: the database
// cannot be read at all.
StatusOr<std::vector<std::string>> VerifyDatabase(const Database& database);

}  // namespace tcc
