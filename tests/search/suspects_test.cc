#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

#include "search/database/database_text.h"
#include "search/database/sqlite.h"
#include "search/tuning/tuner.h"
#include "tests/search/fake_measurer.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

using namespace tcc;

namespace {

// The exit code of a child that does the work.
int InChild(const std::function<int()>& work) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int ended = 0;
  REQUIRE(::waitpid(child, &ended, 0) == child);
  REQUIRE(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

constexpr int kCrash = 77;

bool CrashesTheCompiler(const std::string& artefact) {
  return std::hash<std::string>()(artefact) % 5 == 1;
}

// Tunes with a code generator that some candidates take down. Returns an exit code.
int TuneWithCrashes(const std::string& path, const std::vector<Workload>& workloads) {
  StatusOr<Database> database = Database::Open(path, Database::Access::kReadWrite);
  if (!database.ok()) return 1;
  FakeMeasurer measurer;
  TuneOptions options;
  options.target = SearchTarget();
  options.trials = 8;
  options.batch = 8;
  BuildFunction inner = measurer.Builder();
  bool is_reference = true;
  BuildFunction build = [&](const Workload& workload, std::span<const Candidate> candidates,
                            const BuildFilter& filter) {
    for (const Candidate& candidate : candidates) {
      if (is_reference) break;
      if (CrashesTheCompiler(FakeArtefact(workload, candidate.schedule))) ::_exit(kCrash);
    }
    is_reference = false;
    return inner(workload, candidates, filter);
  };
  TuneTools tools{.measurer = measurer, .network = nullptr, .build = build};
  return Tune(workloads, options, LocalEnvironment(), tools, *database).ok() ? 0 : 2;
}

}  // namespace

TEST_CASE("what a process was building when it ended is suspect once", "[search][database]") {
  DatabaseFolder folder;
  Workload workload = SmallWorkload(), other_workload = ProductWorkload("other");
  Database database = OpenToWrite(folder / "f.db");
  int64_t id = database.WorkloadId(workload).value();
  std::vector<StoredTrial> candidates = {TrialOf(workload, 2, 1), TrialOf(workload, 4, 1)};
  int code = InChild([&] {
    StatusOr<Database> other = Database::Open(folder / "f.db", Database::Access::kReadWrite);
    return other.ok() && other->BeginBuild(id, candidates).ok() ? 0 : 1;
  });
  REQUIRE(code == 0);
  // This process is alive, and what it builds is nobody's suspect.
  std::vector<StoredTrial> own = {TrialOf(workload, 8, 1)};
  REQUIRE(database.BeginBuild(id, own).ok());
  std::vector<Suspect> suspects = database.TakeSuspects(id).value();
  REQUIRE(suspects.size() == 2);
  CHECK(suspects[0].batch == 2);
  CHECK(suspects[0].candidate.schedule.decisions == candidates[0].schedule.decisions);
  CHECK(suspects[1].candidate.variant_key == candidates[1].variant_key);
  CHECK(database.TakeSuspects(id).value().empty());
  CHECK(database.connection().QueryInt("SELECT count(*) FROM in_flight", {}).value() == 1);
  // A batch of another task is under way beside it.
  std::vector<StoredTrial> others = {TrialOf(other_workload, 1, 1)};
  int64_t other = database.WorkloadId(other_workload).value();
  REQUIRE(database.BeginBuild(other, others).ok());
  REQUIRE(database.EndBuild(id).ok());
  CHECK(database.connection().QueryInt("SELECT count(*) FROM in_flight", {}).value() == 1);
  REQUIRE(database.EndBuild(other).ok());
  CHECK(database.connection().QueryInt("SELECT count(*) FROM in_flight", {}).value() == 0);
}

TEST_CASE("a candidate that crashes the compiler is found and not built again", "[search][tuner]") {
  DatabaseFolder folder;
  std::vector<Workload> workloads = {ProductWorkload("product")};
  int crashes = 0, code = kCrash;
  while (code == kCrash && crashes < 100) {
    code = InChild([&] { return TuneWithCrashes(folder / "f.db", workloads); });
    if (code == kCrash) ++crashes;
  }
  CHECK(code == 0);
  CHECK(crashes > 0);
  Database database = OpenToWrite(folder / "f.db");
  int64_t found = 0;
  for (const StoredTrial& trial : TrialsOf(database, workloads[0])) {
    if (trial.searcher == "constructed") continue;
    bool crashed = CrashesTheCompiler(FakeArtefact(workloads[0], trial.schedule));
    CHECK(crashed == (trial.measurement.status == MeasureStatus::kBuildFailed));
    found += crashed;
  }
  // Each costs one process in a batch and one alone, where several may share the first.
  CHECK(found > 0);
  CHECK(crashes <= 2 * found);
}

TEST_CASE("schedules of an import are tried first", "[search][tuner]") {
  DatabaseFolder folder;
  std::vector<Workload> workloads = {ProductWorkload("product")};
  FakeMeasurer there;
  TuneOptions options;
  options.target = SearchTarget();
  options.trials = 60;
  Environment elsewhere = LocalEnvironment();
  elsewhere.device = "another CPU";
  elsewhere.target = options.target.name;
  Environment here = elsewhere;
  here.device = "this CPU";
  Database other = OpenToWrite(folder / "other.db");
  TuneTools tools{.measurer = there, .network = nullptr, .build = there.Builder()};
  REQUIRE(Tune(workloads, options, elsewhere, tools, other).ok());
  TunedSchedules best = BestOf(other, elsewhere);
  REQUIRE(best.size() == 1);

  Database database = OpenToWrite(folder / "f.db");
  REQUIRE(ImportText(database, ExportText(other).value()).ok());
  CHECK(BestOf(database, here).empty());
  // Of the same device it is used while nothing was measured here.
  CHECK(BestOf(database, elsewhere).size() == 1);
  FakeMeasurer measurer;
  TuneTools again{.measurer = measurer, .network = nullptr, .build = measurer.Builder()};
  options.trials = 6;
  REQUIRE(Tune(workloads, options, here, again, database).ok());
  std::vector<StoredTrial> trials = TrialsOf(database, workloads[0], here);
  REQUIRE(trials.size() == 6);
  CHECK(trials[1].searcher == "imported");
  CHECK(trials[1].schedule.decisions == best.begin()->second.schedule.decisions);
}
