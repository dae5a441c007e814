#include "search/database/database.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "search/database/database_report.h"
#include "search/database/sqlite.h"
#include "tests/search/sample_database.h"

using namespace tcc;

namespace {

// Root may write everything; in this scope it may not.
class WithoutRoot {
 public:
  WithoutRoot() {
    if (::geteuid() == 0) root_ = ::seteuid(65534) == 0;
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;
  ~WithoutRoot() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool root_ = false;
};

std::string OpenError(const std::string& path, Database::Access access) {
  StatusOr<Database> database = Database::Open(path, access);
  CHECK_FALSE(database.ok());
  CHECK(Message(database.status()).find(path) != std::string::npos);
  return Message(database.status());
}

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("what is recorded is there when the database is opened again", "[search][database]") {
  DatabaseFolder folder;
  Workload workload = SmallWorkload();
  StoredTrial constructed = TrialOf(workload, 1, 2e-3, "constructed");
  StoredTrial faster = TrialOf(workload, 4, 1e-3);
  StoredTrial wrong = Failed(TrialOf(workload, 8, 0), MeasureStatus::kWrong, "p1[3] is 0");
  wrong.measurement.error = std::numeric_limits<double>::quiet_NaN();
  wrong.lowered_key = "";
  {
    Database database = OpenToWrite(folder / "f.db");
    for (const StoredTrial& trial : {constructed, faster, wrong}) {
      Record(database, workload, trial);
    }
  }

  Database database = OpenToWrite(folder / "f.db");
  CHECK(database.warnings().empty());
  std::vector<StoredTrial> trials = TrialsOf(database, workload);
  REQUIRE(trials.size() == 3);
  CHECK(trials[0].searcher == "constructed");
  CHECK(trials[1].variant_key == workload.key);
  CHECK(trials[1].rules == "tiled");
  CHECK(Print(trials[1].schedule) == Print(faster.schedule));
  CHECK(trials[1].lowered_key == "lowered 4");
  CHECK(trials[1].measurement.seconds == 1e-3);
  CHECK(trials[1].measurement.calls == 100);
  CHECK(trials[2].measurement.status == MeasureStatus::kWrong);
  CHECK(trials[2].measurement.message == "p1[3] is 0");
  CHECK(trials[2].measurement.error == std::numeric_limits<double>::max());
  CHECK(trials[2].lowered_key.empty());
  CHECK(TrialsOf(database, workload, LocalEnvironment(7)).empty());

  TunedSchedules best = BestOf(database);
  REQUIRE(best.contains(workload.key));
  CHECK(best[workload.key].seconds == 1e-3);
  CHECK(best[workload.key].variant_key == workload.key);
  CHECK(Print(best[workload.key].schedule) == Print(faster.schedule));
}

TEST_CASE("the first measurement of a candidate stays", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  Record(database, workload, TrialOf(workload, 4, 1e-3));
  Record(database, workload, TrialOf(workload, 4, 5e-4));
  std::vector<StoredTrial> trials = TrialsOf(database, workload);
  REQUIRE(trials.size() == 1);
  CHECK(trials[0].measurement.seconds == 1e-3);
}

TEST_CASE("a trial of an unknown variant or without seconds is refused", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  int64_t id = database.WorkloadId(workload).value();
  int64_t environment = database.EnvironmentId(LocalEnvironment()).value();
  StoredTrial trial = TrialOf(workload, 4, 1e-3);
  trial.variant_key = "of nobody";
  CHECK_FALSE(database.Record(id, environment, trial).ok());
  for (double seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_FALSE(database.Record(id, environment, TrialOf(workload, 4, seconds)).ok());
  }
  CHECK(TrialsOf(database, workload).empty());
  CHECK(StatsOf(database)->candidates == 0);
}

TEST_CASE("the best of a workload beats what is compiled without a search by 2 %",
          "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  Record(database, workload, TrialOf(workload, 9, 5e-4));
  CHECK(BestOf(database).empty());  // nothing to beat yet

  Record(database, workload, TrialOf(workload, 1, 5.05e-4, "constructed"));
  CHECK(BestOf(database).empty());

  Record(database, workload, TrialOf(workload, 2, 4.9e-4));
  Record(database, workload, TrialOf(workload, 3, 4.9e-4));
  Record(database, workload, Failed(TrialOf(workload, 5, 0), MeasureStatus::kHang, "late"));
  TunedSchedules best = BestOf(database);
  REQUIRE(best.size() == 1);
  CHECK(best[workload.key].schedule.decisions == Decisions{{"b0.i0.1", 2}});  // the first of two
}

TEST_CASE("the best is sought in environments of the device with the nearest number of threads",
          "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload(), other = SmallWorkload(32);
  for (int threads : {1, 4}) {
    Record(database, workload, TrialOf(workload, 1, 1.0 / threads, "constructed"),
           LocalEnvironment(threads));
    Record(database, workload, TrialOf(workload, 10 + threads, 0.5 / threads),
           LocalEnvironment(threads));
  }
  // Says nothing about the nearest: it is not ok.
  Record(database, workload, Failed(TrialOf(workload, 1, 0), MeasureStatus::kFault, "signal 11"),
         LocalEnvironment(6));
  Record(database, other, TrialOf(other, 1, 1.0, "constructed"), LocalEnvironment(1));
  Record(database, other, TrialOf(other, 1000, 0.1), LocalEnvironment(1));

  TunedSchedules best = BestOf(database, LocalEnvironment(6));
  CHECK(best[workload.key].seconds == 0.125);
  CHECK(best[other.key].seconds == 0.1);
  CHECK(BestOf(database, LocalEnvironment(2))[workload.key].seconds == 0.5);

  Environment newer = LocalEnvironment(1);
  newer.tcc = "0.2.0";
  newer.compilers = "LLVM 20";
  newer.policy = "in-place";
  CHECK(BestOf(database, newer).size() == 2);
  Environment elsewhere = LocalEnvironment(1);
  elsewhere.device = "another CPU";
  CHECK(BestOf(database, elsewhere).empty());
  elsewhere = LocalEnvironment(1);
  elsewhere.measurer = "clock";
  CHECK(BestOf(database, elsewhere).empty());
}

TEST_CASE("a faster warm time does not decide over colder ones", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  auto by = [](const std::string& policy) {
    Environment environment = LocalEnvironment();
    environment.policy = policy;
    return environment;
  };
  auto search = [&](const std::string& policy, double constructed, int64_t tile, double seconds) {
    Record(database, workload, TrialOf(workload, 1, constructed, "constructed"), by(policy));
    Record(database, workload, TrialOf(workload, tile, seconds), by(policy));
  };
  auto best = [&](const std::string& wanted) {
    return BestOf(database, by(wanted))[workload.key].schedule.decisions["b0.i0.1"];
  };
  search("warm", 2.0, 2, 1.0);
  CHECK(best("rotate-64M") == 2);
  search("rotate-64M", 4.0, 3, 3.0);
  CHECK(best("rotate-64M") == 3);
  CHECK(best("warm") == 2);
  CHECK(best("rotate-L2") == 3);
  search("rotate-weights-64M", 3.5, 4, 2.5);
  CHECK(best("rotate-L2") == 4);
  CHECK(best("rotate-64M") == 3);

  // A search that has just begun says nothing yet.
  Record(database, workload, TrialOf(workload, 1, 5.0, "constructed"), by("in-place"));
  CHECK(best("rotate-64M") == 3);
  Record(database, workload, TrialOf(workload, 5, 4.5), by("in-place"));
  for (const char* wanted : {"rotate-64M", "warm", "in-place"}) CHECK(best(wanted) == 5);
}

TEST_CASE("no gain in place is not made up for by a gain on warm operands", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  Environment environment = LocalEnvironment();
  environment.policy = "warm";
  Record(database, workload, TrialOf(workload, 1, 2.0, "constructed"), environment);
  Record(database, workload, TrialOf(workload, 2, 1.0), environment);
  CHECK(BestOf(database).size() == 1);
  environment.policy = "in-place";
  Record(database, workload, TrialOf(workload, 1, 4.0, "constructed"), environment);
  Record(database, workload, TrialOf(workload, 2, 5.0), environment);
  CHECK(BestOf(database).empty());
}

TEST_CASE("a comparison in place decides over the search", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  Record(database, workload, TrialOf(workload, 1, 2.0, "constructed"));
  Record(database, workload, TrialOf(workload, 2, 1.0));
  Record(database, workload, TrialOf(workload, 3, 1.1));
  int64_t id = database.WorkloadId(workload).value();
  int64_t environment = database.EnvironmentId(LocalEnvironment()).value();
  std::vector<StoredTrial> compared = {TrialOf(workload, 2, 3.0), TrialOf(workload, 3, 2.49)};
  REQUIRE(database.RecordComparison(id, environment, compared).ok());
  CHECK(BestOf(database)[workload.key].schedule.decisions == Decisions{{"b0.i0.1", 3}});
  CHECK(TrialsOf(database, workload).size() == 3);

  // The next comparison takes its place, though the former winner had fewer seconds.
  compared = {TrialOf(workload, 1, 2.5, "constructed"), TrialOf(workload, 2, 2.6)};
  REQUIRE(database.RecordComparison(id, environment, compared).ok());
  CHECK(BestOf(database).empty());
}

TEST_CASE("the latest comparison decides over those of other policies", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  Environment in_place = LocalEnvironment();
  in_place.policy = "in-place";
  int64_t id = database.WorkloadId(workload).value();
  int64_t first = database.EnvironmentId(LocalEnvironment()).value();
  int64_t second = database.EnvironmentId(in_place).value();
  std::vector<StoredTrial> compared = {TrialOf(workload, 1, 2.0, "constructed"),
                                       TrialOf(workload, 2, 1.0)};
  REQUIRE(database.RecordComparison(id, first, compared).ok());
  compared = {TrialOf(workload, 1, 4.0, "constructed"), TrialOf(workload, 3, 3.0)};
  REQUIRE(database.RecordComparison(id, second, compared).ok());
  CHECK(BestOf(database)[workload.key].schedule.decisions == Decisions{{"b0.i0.1", 3}});
}

TEST_CASE("a record that cannot be read is left out with a warning", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(MakeDatabase(folder / "f.db"));
  REQUIRE(database.connection().Run("UPDATE sketch SET trace = 'bend b0'").ok());
  CHECK(BestOf(database).empty());
  CHECK(TrialsOf(database, SmallWorkload()).empty());
  REQUIRE(database.warnings().size() == 2);
  CHECK(database.warnings()[0].find("best record of 'add_64'") != std::string::npos);
  CHECK(VerifyDatabase(database)->size() == 2);  // the key of the sketch, too
}

TEST_CASE("two handles write one file at once", "[search][database]") {
  DatabaseFolder folder;
  Database a = OpenToWrite(folder / "f.db"), b = OpenToWrite(folder / "f.db");
  Workload workload = SmallWorkload();
  for (int i = 0; i < 20; ++i) Record(i % 2 ? a : b, workload, TrialOf(workload, i + 1, 1e-3));
  CHECK(TrialsOf(a, workload).size() == 20);
  CHECK(TrialsOf(b, workload).size() == 20);
  StatusOr<Database> reader = Database::Open(folder / "f.db", Database::Access::kRead);
  REQUIRE(reader.ok());
  CHECK(StatsOf(*reader)->measurements == 20);
  CHECK_FALSE(reader->EnvironmentId(LocalEnvironment(9)).ok());
}

namespace {

// Records until it is killed and writes a byte for each trial that Record has returned OK for.
[[noreturn]] void RecordForEver(const std::string& path, const Workload& workload, int pipe,
                                int64_t first) {
  StatusOr<Database> database = Database::Open(path, Database::Access::kReadWrite);
  if (!database.ok()) ::_exit(1);
  int64_t id = database->WorkloadId(workload).value();
  int64_t environment = database->EnvironmentId(LocalEnvironment()).value();
  for (int64_t i = first;; ++i) {
    if (!database->Record(id, environment, TrialOf(workload, i, 1e-3)).ok()) ::_exit(2);
    if (::write(pipe, "x", 1) != 1) ::_exit(3);
  }
}

}  // namespace

TEST_CASE("a killed writer loses nothing that was acknowledged", "[search][database]") {
  DatabaseFolder folder;
  Workload workload = SmallWorkload();
  size_t acknowledged = 0;
  for (int round = 0; round < 5; ++round) {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    pid_t child = ::fork();
    if (child == 0) RecordForEver(folder / "f.db", workload, pipe[1], 1 + 100000 * round);
    ::close(pipe[1]);
    char bytes[64];
    for (int i = 0; i < 40 + 17 * round; ++i) acknowledged += ::read(pipe[0], bytes, 1) == 1;
    ::kill(child, SIGKILL);
    for (ssize_t n; (n = ::read(pipe[0], bytes, sizeof(bytes))) > 0;) acknowledged += n;
    ::close(pipe[0]);
    int ended = 0;
    REQUIRE(::waitpid(child, &ended, 0) == child);
    REQUIRE(WIFSIGNALED(ended));

    Database database = OpenToWrite(folder / "f.db");
    CHECK(database.warnings().empty());
    size_t found = TrialsOf(database, workload).size();
    CHECK(found >= acknowledged);
    CHECK(found <= acknowledged + 1 + round);  // committed, and killed before it could say so
    CHECK(VerifyDatabase(database)->empty());
  }
}

TEST_CASE("many processes make and write one database", "[search][database]") {
  DatabaseFolder folder;
  Workload workload = SmallWorkload();
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    StatusOr<Database> database = Database::Open(folder / "f.db", Database::Access::kReadWrite);
    if (!database.ok()) ::_exit(1);
    for (int n = 0; n < 20; ++n) {
      StatusOr<int64_t> id = database->WorkloadId(workload);
      StatusOr<int64_t> environment = database->EnvironmentId(LocalEnvironment(i));
      if (!id.ok() || !environment.ok()) ::_exit(2);
      StoredTrial trial = TrialOf(workload, 1 + n + 10 * i, 1e-3);
      if (!database->Record(*id, *environment, trial).ok()) ::_exit(3);
    }
    ::_exit(0);
  }
  for (pid_t child : children) {
    int ended = 0;
    REQUIRE(::waitpid(child, &ended, 0) == child);
    CHECK(ended == 0);
  }
  Database database = OpenToWrite(folder / "f.db");
  CHECK(StatsOf(database)->measurements == 120);
  CHECK(VerifyDatabase(database)->empty());
}

TEST_CASE("a path that is no database of tcc is refused and stays as it is", "[search][database]") {
  DatabaseFolder folder;
  auto check_refused = [](const std::string& path, const std::string& why) {
    std::string before = Bytes(path);
    for (auto access : {Database::Access::kRead, Database::Access::kReadWrite}) {
      std::string error = OpenError(path, access);
      INFO(error);
      CHECK(error.find(why) != std::string::npos);
    }
    CHECK(Bytes(path) == before);
  };
  Write(folder / "short", "notes");
  check_refused(folder / "short", "no SQLite file");
  Write(folder / "long", std::string(20000, 'x'));
  check_refused(folder / "long", "no SQLite file");
  {
    StatusOr<SqliteConnection> foreign =
        SqliteConnection::Open(folder / "foreign", SqliteMode::kCreate);
    REQUIRE(foreign->RunScript("PRAGMA journal_mode = WAL; CREATE TABLE measurement(x)").ok());
  }
  check_refused(folder / "foreign", "of another program");
  {
    Database database = OpenToWrite(folder / "newer");
    REQUIRE(database.connection().Run("PRAGMA user_version = 7").ok());
  }
  check_refused(folder / "newer", "was made by a newer tcc: its format is 7, this one knows 1");

  CHECK(OpenError(folder / "none", Database::Access::kRead).find("No such file") !=
        std::string::npos);
  CHECK(OpenError(folder / "none/f.db", Database::Access::kReadWrite).find("No such file") !=
        std::string::npos);
  for (auto access : {Database::Access::kRead, Database::Access::kReadWrite}) {
    CHECK(OpenError(folder / "", access).find("it is a folder") != std::string::npos);
    OpenError("/dev/null", access);
  }
  CHECK_FALSE(std::filesystem::exists(folder / "none"));
}

TEST_CASE("an empty file becomes a database", "[search][database]") {
  DatabaseFolder folder;
  Write(folder / "f.db", "");
  CHECK(OpenError(folder / "f.db", Database::Access::kRead).find("empty") != std::string::npos);
  MakeDatabase(folder / "f.db");
  CHECK(Database::Open(folder / "f.db", Database::Access::kRead).ok());
}

TEST_CASE("a damaged database is kept aside and a new one begun", "[search][database]") {
  DatabaseFolder folder;
  std::string path = MakeDatabase(folder / "f.db", 200);
  std::string whole = Bytes(path);
  std::string damaged;
  SECTION("cut in the middle") {
    damaged = whole.substr(0, whole.size() / 2 + 100);
  }
  SECTION("cut within the header") {
    damaged = whole.substr(0, 50);
  }
  SECTION("pages overwritten") {
    damaged = whole;
    damaged.replace(4096 * 3, 4096 * 4, std::string(4096 * 4, 'x'));
  }
  SECTION("page size overwritten") {
    damaged = whole.replace(16, 2, "xy");
  }
  Write(path, damaged);

  StatusOr<Database> read = Database::Open(path, Database::Access::kRead);
  if (read.ok()) {
    CHECK_FALSE(VerifyDatabase(*read)->empty());
  } else {
    CHECK(absl::IsInvalidArgument(read.status()));
  }
  CHECK(Bytes(path) == damaged);
  for (int n : {1, 2}) {
    Write(path, damaged);
    Database database = OpenToWrite(path);
    REQUIRE(database.warnings().size() == 1);
    INFO(database.warnings()[0]);
    CHECK(database.warnings()[0].find(fmt::format("f.db.damaged-{}'", n)) != std::string::npos);
    CHECK(Bytes(path + ".damaged-" + std::to_string(n)) == damaged);
    Record(database, SmallWorkload(), TrialOf(SmallWorkload(), 3, 1e-3));
    CHECK(StatsOf(database)->measurements == 1);
  }
}

TEST_CASE("a database that cannot be written is read, and refused to a writer",
          "[search][database]") {
  DatabaseFolder folder;
  using std::filesystem::perms;
  std::filesystem::create_directory(folder / "shelf");
  std::string path = MakeDatabase(folder / "shelf/f.db");
  std::filesystem::permissions(folder / "", perms(0755));
  perms file = GENERATE(perms(0444), perms(0666));
  perms shelf = GENERATE(perms(0555), perms(0777));
  std::filesystem::permissions(path, file);
  std::filesystem::permissions(folder / "shelf", shelf);
  std::string before = Bytes(path);
  {
    WithoutRoot without_root;
    StatusOr<Database> read = Database::Open(path, Database::Access::kRead);
    INFO(read.status());
    REQUIRE(read.ok());
    CHECK(BestOf(*read).size() == 1);
    if (file == perms(0444) || shelf == perms(0555)) {
      std::string error = OpenError(path, Database::Access::kReadWrite);
      INFO(error);
      CHECK(error.find("cannot write") != std::string::npos);
    }
  }
  CHECK(Bytes(path) == before);
  std::filesystem::permissions(folder / "shelf", perms(0755));
}

TEST_CASE("a full disk is an error that names the file and loses nothing", "[search][database]") {
  DatabaseFolder folder;
  std::string path = MakeDatabase(folder / "f.db");
  Workload workload = SmallWorkload();
  size_t recorded = 2;
  {
    Database database = OpenToWrite(path);
    int64_t pages = database.connection().QueryInt("PRAGMA page_count")->value();
    std::string limit = fmt::format("PRAGMA max_page_count = {}", pages + 10);
    REQUIRE(database.connection().Run(limit).ok());
    int64_t id = database.WorkloadId(workload).value();
    int64_t environment = database.EnvironmentId(LocalEnvironment()).value();
    Status status;
    for (int64_t i = 10; status.ok() && i < 10000; ++i) {
      status = database.Record(id, environment, TrialOf(workload, i, 1e-3));
      recorded += status.ok();
    }
    CHECK(absl::IsResourceExhausted(status));
    CHECK(Message(status).find(path) != std::string::npos);
    CHECK(Message(status).find("no space left") != std::string::npos);
    CHECK(TrialsOf(database, workload).size() == recorded);
  }
  Database database = OpenToWrite(path);
  CHECK(database.warnings().empty());
  CHECK(TrialsOf(database, workload).size() == recorded);
  Record(database, workload, TrialOf(workload, 100000, 1e-3));
}
