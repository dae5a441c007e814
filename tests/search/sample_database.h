#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/database/database.h"

// Databases of a workload that adds one, and trials that were never run.
namespace tcc {

// A folder that is removed at the end.
class DatabaseFolder {
 public:
  DatabaseFolder();
  DatabaseFolder(const DatabaseFolder&) = delete;
  DatabaseFolder& operator=(const DatabaseFolder&) = delete;
  ~DatabaseFolder();
  std::string operator/(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
};

Workload SmallWorkload(int64_t elements = 64);
Environment LocalEnvironment(int threads = 2);
// An ok trial. Tiles that are equal modulo 10 lower alike.
StoredTrial TrialOf(const Workload& workload, int64_t tile, double seconds,
                    const std::string& searcher = "random");
StoredTrial Failed(StoredTrial trial, MeasureStatus status, const std::string& message);

// Require that it goes well.
Database OpenToWrite(const std::string& path);
void Record(Database& database, const Workload& workload, const StoredTrial& trial,
            const Environment& environment = LocalEnvironment());
std::vector<StoredTrial> TrialsOf(Database& database, const Workload& workload,
                                  const Environment& environment = LocalEnvironment());
TunedSchedules BestOf(const Database& database, const Environment& wanted = LocalEnvironment());

// Makes a database of a workload: what is compiled without a search, then faster trials. Returns
// the path.
std::string MakeDatabase(const std::string& path, int trials = 2);

}  // namespace tcc
