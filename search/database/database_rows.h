#pragma once

#include <cstdint>
#include <string>

#include "search/database/database.h"
#include "search/database/sqlite.h"

// Conversion between values and rows of the tables of schema.h. Functions that insert expect an
// open transaction and keep an existing row.
namespace tcc {

// Returns the SHA-256 of the fields.
std::string EnvironmentKey(const Environment& environment);
// The fields of an environment as columns of table `e`. EnvironmentAt reads them from a row, from
// column `first` on.
inline constexpr const char* kEnvironmentColumns =
    "e.tcc, e.target, e.device, e.measurer, e.policy, e.compilers, e.threads";
inline constexpr int kEnvironmentColumnCount = 7;
Environment EnvironmentAt(const SqlRow& row, int first);

// Returns decisions as "b0.i1.1=4 b0.i1.2=16", by name.
std::string DecisionsText(const Decisions& decisions);
StatusOr<Decisions> ParseDecisions(const std::string& text);

struct StoredWorkload {
  std::string key;
  std::string name;
  std::string first_variant;  // a variant's key
  double flops = 0;
  std::optional<int64_t> moved_bytes;
};

StoredWorkload StoredWorkloadOf(const Workload& workload);

// Returns the number of the row, or nullopt.
StatusOr<std::optional<int64_t>> FindEnvironment(SqliteConnection& connection,
                                                 const Environment& environment);
StatusOr<std::optional<int64_t>> FindWorkload(SqliteConnection& connection, const std::string& key);

StatusOr<int64_t> InsertEnvironment(SqliteConnection& connection, const Environment& environment);
Status InsertVariant(SqliteConnection& connection, const std::string& key, const std::string& text);
StatusOr<int64_t> InsertWorkload(SqliteConnection& connection, const StoredWorkload& workload);

// Returns the number of the candidate's row; ignores the trial's measurement.
StatusOr<int64_t> InsertCandidate(SqliteConnection& connection, int64_t workload,
                                  const StoredTrial& trial);

// The place of a trial in the database.
struct TrialPlace {
  int64_t workload = 0;
  int64_t environment = 0;
  int64_t series = 0;
  int64_t at = 0;  // microseconds since 1970
};
// Inserts a trial. Returns whether its measurement is new.
StatusOr<bool> InsertTrial(SqliteConnection& connection, const TrialPlace& place,
                           const StoredTrial& trial);

// The columns of a measurement in table `m`. MeasurementAt reads them from a row, from column
// `first` on. Error: a status that this tcc does not know.
inline constexpr const char* kMeasurementColumns =
    "m.status, m.seconds, m.spread, m.calls, m.error, m.canary, m.message";
inline constexpr int kMeasurementColumnCount = 7;
StatusOr<Measurement> MeasurementAt(const SqlRow& row, int first);

}  // namespace tcc
