#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/measurement.h"
#include "schedule/space/schedule.h"
#include "search/candidate/workload.h"
#include "search/database/tuned_schedules.h"
#include "support/status.h"

namespace tcc {

class SqliteConnection;

// The conditions of a measurement, beside its candidate. Records of different environments never
// mix.
struct Environment {
  std::string tcc;        // version
  std::string target;     // "native"
  std::string device;     // CPU name, features, caches: as one line of text
  std::string measurer;   // Measurer::Name
  std::string policy;     // NameOf(MeasurePolicy)
  std::string compilers;  // what made the machine code, "LLVM 19.1.7"
  int threads = 1;        // that the kernels ran on
};

// A candidate of a workload and how measuring it ended.
struct StoredTrial {
  std::string variant_key;       // FunctionKey of the variant that the schedule is for
  std::string rules;             // that made the sketch, Sketch::name
  Schedule schedule;             // schedule.variant is not stored: variant_key stands for it
  std::string lowered_key = {};  // LoweredKey; "" where it was not lowered
  Measurement measurement = {};
  double build_seconds = 0;
  std::string searcher = {};  // who proposed it; "constructed": what is compiled without a search
};

// A candidate that a process was building when it ended.
struct Suspect {
  StoredTrial candidate;  // without a measurement
  int64_t batch = 1;      // how many were built at once, this one among them
};

// Everything that was ever measured, in one SQLite file (WAL). Several processes may use it at
// once; a handle is used by one thread at a time. What Record has returned OK for survives the end
// of the process by any signal.
class Database {
 public:
  enum class Access { kRead, kReadWrite };

  // With kReadWrite the file is made where there is none, and a damaged one is renamed to
  // PATH.damaged-N and begun anew, with a warning. Errors name the path: no such file, not a
  // database of tcc, damaged (kRead), read-only, made by a newer tcc.
  static StatusOr<Database> Open(const std::string& path, Access access);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;

  // Messages for people: the file was damaged, or a record of it is left out. Grows.
  const std::vector<std::string>& warnings() const;

  // Numbers of rows, which are made where there are none.
  StatusOr<int64_t> EnvironmentId(const Environment& environment);
  // Keeps the text of every variant, once.
  StatusOr<int64_t> WorkloadId(const Workload& workload);

  // One transaction. A candidate that the environment knows already keeps its first measurement.
  // A figure that is not finite is kept as the largest double. Error: the variant is not one of a
  // recorded workload; an ok measurement without seconds; no space left, and then nothing of the
  // trial is kept and all before it is.
  Status Record(int64_t workload, int64_t environment, const StoredTrial& trial);
  // Keeps what was measured in place, inside the network, at the end of a search (series 1), in
  // place of the workload's former comparison in the environment. All of it or nothing.
  Status RecordComparison(int64_t workload, int64_t environment,
                          std::span<const StoredTrial> trials);

  // Note that this process is about to build candidates, and that it is done with them: a code
  // generator that crashes takes the process along.
  Status BeginBuild(int64_t workload, std::span<const StoredTrial> candidates);
  Status EndBuild();
  // Removes and returns the notes on candidates of a workload whose processes are gone.
  StatusOr<std::vector<Suspect>> TakeSuspects(int64_t workload);

  // All of a workload in an environment, in the order in which they were recorded; no comparisons.
  // A trial that this tcc cannot read (a step or status that it does not know) is left out, with a
  // warning.
  StatusOr<std::vector<StoredTrial>> TrialsOf(int64_t workload, int64_t environment) const;

  // The measurements of others: up to `most` ok trials of imports for the target, on any device,
  // least seconds first.
  StatusOr<std::vector<StoredTrial>> ImportedTrialsOf(int64_t workload, const std::string& target,
                                                      int64_t most) const;

  // Per workload the ok trial of least seconds. It is sought in the environments of the wanted
  // target, device and measurer, and among them where an ok trial ran on the number of threads
  // nearest to wanted.threads. Ties go to the first recorded.
  //
  // Comparisons decide alone where there are any, and the latest of several: a workload is left out
  // if its "constructed" candidate won. Otherwise it is left out unless its best takes less than
  // 0.98 times the least "constructed" trial (ok or slow) of the same environment; without one
  // there is nothing to beat. A winner that this tcc cannot read is left out, with a warning.
  StatusOr<TunedSchedules> Best(const Environment& wanted) const;

  // For the functions of this folder and their tests.
  SqliteConnection& connection() const;

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tcc
