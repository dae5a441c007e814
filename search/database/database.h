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
#include "schedule/space/workload.h"
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
  std::string compilers;  // the compilers of the machine code, "LLVM 19.1.7"
  int threads = 1;        // the number of threads that the kernels ran on
};

// A candidate of a workload and the outcome of its measurement.
struct StoredTrial {
  std::string variant_key;       // FunctionKey of the variant that the schedule is for
  std::string rules;             // the rules that made the sketch, Sketch::name
  Schedule schedule;             // schedule.variant is not stored: variant_key stands for it
  std::string lowered_key = {};  // LoweredKey; "" where it was not lowered
  Measurement measurement = {};
  double build_seconds = 0;
  std::string searcher = {};  // "constructed": the candidate that is compiled without a search
};

// A searcher's candidate replaces the constructed one if it takes less than this part of its time:
// repeated measurements differ by up to 2 %.
inline constexpr double kMinGain = 0.98;

// A candidate that a process was building when it ended.
struct Suspect {
  StoredTrial candidate;  // without a measurement
  int64_t batch = 1;      // the number of candidates that were built at once, including this one
};

// A device with records (Environment::device), and the number of workloads that it has some of.
struct RecordedDevice {
  std::string device;
  int64_t workloads = 0;
};

// The database of all measurements, in one SQLite file (WAL). Several processes may use it at once;
// a handle is used by one thread at a time. Once Record has returned OK, its trial survives the end
// of the process by any signal.
class Database {
 public:
  enum class Access { kRead, kReadWrite };

  // Opens a database. With kReadWrite the file is created if there is none, and a damaged one is
  // renamed to PATH.damaged-N and begun anew, with a warning. Errors name the path: no such file,
  // not a database of tcc, damaged (kRead), read-only, made by a newer tcc.
  static StatusOr<Database> Open(const std::string& path, Access access);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;

  // Returns messages for people: the file was damaged, or a record of it is left out. Grows.
  const std::vector<std::string>& warnings() const;

  // Returns the row number of an environment, which is inserted if it is new.
  StatusOr<int64_t> EnvironmentId(const Environment& environment);
  // Returns the row number of a workload, which is inserted if it is new. Stores the text of every
  // variant, once.
  StatusOr<int64_t> WorkloadId(const Workload& workload);

  // Records a trial in one transaction. A candidate that the environment knows already keeps its
  // first measurement. A figure that is not finite is stored as the largest double. Error: the
  // variant is not one of a recorded workload; an ok measurement without seconds; no space left,
  // and then nothing of the trial is stored and all earlier ones are.
  Status Record(int64_t workload, int64_t environment, const StoredTrial& trial);
  // Replaces the workload's comparison in the environment: the measurements in place, inside the
  // network, at the end of a search (series 1). All of it or nothing.
  Status RecordComparison(int64_t workload, int64_t environment,
                          std::span<const StoredTrial> trials);

  // Note that this process is about to build candidates of a workload, and that it has built all of
  // them: a crashing code generator takes the process down.
  Status BeginBuild(int64_t workload, std::span<const StoredTrial> candidates);
  Status EndBuild(int64_t workload);
  // Removes and returns the notes on candidates of a workload whose processes are gone.
  StatusOr<std::vector<Suspect>> TakeSuspects(int64_t workload);

  // Returns all trials of a workload in an environment, in the order in which they were recorded,
  // without comparisons. A trial that this tcc cannot read (a step or status that it does not know)
  // is left out, with a warning.
  StatusOr<std::vector<StoredTrial>> TrialsOf(int64_t workload, int64_t environment) const;

  // Returns imported measurements: up to `most` ok trials for the target, on any device, least
  // seconds first.
  StatusOr<std::vector<StoredTrial>> ImportedTrialsOf(int64_t workload, const std::string& target,
                                                      int64_t most) const;

  // Returns the ok trial of least seconds per workload. It is sought in the environments of the
  // wanted target, device and measurer, and among them in those where an ok trial ran on the number
  // of threads nearest to wanted.threads. Ties go to the first recorded.
  //
  // Only trials of one policy are compared, since the caches make a warm time shorter than a cold
  // one whichever kernel is better in a network: of the policies by which a searcher's candidate
  // was ok, "in-place", else wanted.policy, else "rotate-weights-*", "rotate-*", "warm".
  //
  // If there are comparisons, the latest one decides alone: a workload is left out if its
  // "constructed" candidate won. Otherwise a workload is left out unless its best takes less than
  // 0.98 times the least "constructed" trial (ok or slow) of the same environment, which must
  // exist. A winner that this tcc cannot read is left out, with a warning.
  StatusOr<TunedSchedules> Best(const Environment& wanted) const;

  // Returns the devices that kernels for the target were measured on, the one with ok measurements
  // of the most workloads first, ties by the device's text.
  StatusOr<std::vector<RecordedDevice>> DevicesOf(const std::string& target) const;

  // For the functions of this folder and their tests.
  SqliteConnection& connection() const;

 private:
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tcc
