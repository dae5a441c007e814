#include "search/database/database_text.h"

#include <catch2/catch.hpp>

#include <limits>

#include "search/database/database_report.h"
#include "search/database/sqlite.h"
#include "support/sha256.h"
#include "tests/search/sample_database.h"

using namespace tcc;

namespace {

// The lines with a checksum that holds.
std::string Sealed(const std::string& lines, int64_t records) {
  return lines +
         fmt::format("{{\"records\": {}, \"sha256\": \"{}\"}}\n", records, ToHex(Sha256(lines)));
}

std::string WithoutLastLine(const std::string& text) {
  return text.substr(0, text.rfind('\n', text.size() - 2) + 1);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

// A database with all that an export has to carry.
void FillWithEverything(Database& database) {
  Workload workload = SmallWorkload(), other = SmallWorkload(32);
  other.moved_bytes.reset();
  other.name = "quotes \" and \\, a tab \t, \xc3\xa4 and \xf0\x9f\x99\x82";
  Record(database, workload, TrialOf(workload, 1, 2e-3, "constructed"));
  Record(database, workload, TrialOf(workload, 4, 1.0 / 3));
  Record(database, workload, TrialOf(workload, 2, 1e-3), LocalEnvironment(4));
  Record(database, other, Failed(TrialOf(other, 8, 0), MeasureStatus::kFault, "signal\n11"));
  StoredTrial bare = TrialOf(other, 9, 1e-9);
  bare.schedule.decisions.clear();
  bare.measurement.status = MeasureStatus::kSlow;
  bare.lowered_key = "";
  bare.build_seconds = 0.25;
  bare.measurement.error = std::numeric_limits<double>::infinity();
  Record(database, other, bare);
  std::vector<StoredTrial> compared = {TrialOf(workload, 4, 0.5)};
  REQUIRE(database
              .RecordComparison(database.WorkloadId(workload).value(),
                                database.EnvironmentId(LocalEnvironment()).value(), compared)
              .ok());
}

std::string ExportOf(const Database& database) {
  StatusOr<std::string> text = ExportText(database);
  INFO(text.status());
  REQUIRE(text.ok());
  return *text;
}

}  // namespace

TEST_CASE("an export rebuilds a database to the byte of its export", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  FillWithEverything(database);
  std::string text = ExportOf(database);

  Database copy = OpenToWrite(folder / "copy.db");
  StatusOr<ImportSummary> summary = ImportText(copy, text, {.keep_measurer = true});
  INFO(summary.status());
  REQUIRE(summary.ok());
  CHECK(summary->variants == 2);
  CHECK(summary->workloads == 2);
  CHECK(summary->records == 6);
  CHECK(ExportOf(copy) == text);
  CHECK(VerifyDatabase(copy)->empty());
  CHECK(TrialsOf(copy, SmallWorkload(32)).size() == 2);
  CHECK(TrialsOf(copy, SmallWorkload(32))[0].measurement.message == "signal\n11");

  // Again: there is nothing new.
  summary = ImportText(copy, text, {.keep_measurer = true});
  REQUIRE(summary.ok());
  CHECK(summary->records == 0);
  CHECK(summary->known == 6);
  CHECK(ExportOf(copy) == text);
}

TEST_CASE("an export has the texts and numbers that earlier versions wrote", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  FillWithEverything(database);
  std::string text = ExportOf(database);
  for (const char* part :
       {R"("name": "quotes \" and \\, a tab \u0009, ä and 🙂", "first": ")",
        R"("status": "ok", "seconds": 0.3333333333333333, "spread": )", R"("seconds": 1e-09, )",
        R"("error": 1.7976931348623157e+308, )", R"("message": "signal\n11", )"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("imported records count where nothing was measured here", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(MakeDatabase(folder / "f.db"));
  Database copy = OpenToWrite(folder / "copy.db");
  REQUIRE(ImportText(copy, ExportOf(database)).ok());
  CHECK(TrialsOf(copy, SmallWorkload()).empty());
  CHECK(BestOf(copy).size() == 1);
  Environment elsewhere = LocalEnvironment();
  elsewhere.device = "another CPU";
  CHECK(BestOf(copy, elsewhere).empty());
  Environment imported = LocalEnvironment();
  imported.measurer = "import:local";
  CHECK(BestOf(copy, imported).size() == 1);

  Database third = OpenToWrite(folder / "third.db");
  REQUIRE(ImportText(third, ExportOf(copy)).ok());
  CHECK(BestOf(third, imported).size() == 1);

  // A candidate that was measured here decides, even as the one that wins nothing.
  Record(copy, SmallWorkload(), TrialOf(SmallWorkload(), 1, 1e-3, "constructed"));
  CHECK(BestOf(copy).empty());
}

TEST_CASE("a hostile import is refused by its line and leaves nothing", "[search][database]") {
  DatabaseFolder folder;
  Database source = OpenToWrite(MakeDatabase(folder / "f.db"));
  std::string text = ExportOf(source);
  std::string lines = WithoutLastLine(text);  // a function, a workload, two records
  Database database = OpenToWrite(folder / "empty.db");
  std::string empty = ExportOf(database);

  auto check_refused = [&](const std::string& hostile, const std::string& why) {
    Status status = ImportText(database, hostile).status();
    INFO(status);
    CHECK(absl::IsInvalidArgument(status));
    CHECK(Message(status).find(why) != std::string::npos);
    CHECK(ExportOf(database) == empty);
    CHECK(StatsOf(database)->environments == 0);
  };
  auto check_line = [&](const std::string& from, const std::string& to, const std::string& why) {
    check_refused(Sealed(Replaced(lines, from, to), 2), why);
  };
  check_refused("", "last line");
  check_refused(text.substr(0, text.size() - 1), "last line");
  check_refused(lines, "line 4");
  check_refused(Replaced(text, "0.001", "0.0001"), "line 5: the checksum");
  check_refused(Sealed(lines, 3), "line 5: the export has 2 records");
  std::string key = SmallWorkload().key;
  check_line(key, std::string(64, '0'), "line 1: the function's key is");
  check_line("block b0", "block \\u0000", "line 1");
  check_line("\"first\": \"" + key, "\"first\": \"x", "line 2: function 'x'");
  check_line("split b0/i0", "bend b0/i0", "line 3: trace: line 2");
  check_line("b0.i0.1=1", "b0.i0.1=one", "line 3: decision");
  check_line("\"seconds\": 0.001", "\"seconds\": NaN", "line 4: column");
  check_line("\"seconds\": 0.001", "\"seconds\": 1e999", "line 4: field 'seconds'");
  check_line("\"seconds\": 0.001", "\"seconds\": -1", "line 4: field 'seconds'");
  check_line("\"seconds\": 0.001, ", "", "line 4: field 'seconds' is missing");
  check_line("\"status\": \"ok\"", "\"status\": \"great\"", "line 3: status 'great'");
  check_line("\"series\": 0", "\"series\": 2", "line 3: field 'series'");
  check_line("\"threads\": 2", "\"threads\": \"2\"",
             "line 3: field 'threads': expected a whole number, got \"2\"");
  check_line("\"workload\": \"" + key + "\", \"rules\"", "\"workload\": \"y\", \"rules\"",
             "line 3: workload 'y'");
  check_line("{\"function\"", "{\"x\": [{}], \"function\"", "line 1: field 'x': expected no");
  check_line("{\"function\"", "{\"text\": \"\", \"function\"",
             "line 1: field 'text': expected a name");
  check_refused(Sealed("{}\n", 0), "line 1: expected a line with");
}

TEST_CASE("every cut and every changed byte of an export is refused", "[search][database]") {
  DatabaseFolder folder;
  Database source = OpenToWrite(MakeDatabase(folder / "f.db"));
  Database database = OpenToWrite(folder / "empty.db");
  std::string text = ExportOf(source);
  for (size_t i = 0; i < text.size(); i += 7) {
    CHECK_FALSE(ImportText(database, text.substr(0, i)).ok());
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(ImportText(database, changed).ok());
  }
  CHECK(StatsOf(database)->variants == 0);
}

TEST_CASE("two databases merge, and first measurements stay", "[search][database]") {
  DatabaseFolder folder;
  Workload workload = SmallWorkload();
  std::string one = folder / "one.db", two = folder / "two.db";
  {
    Database a = OpenToWrite(one), b = OpenToWrite(two);
    Record(a, workload, TrialOf(workload, 1, 2e-3, "constructed"));
    Record(a, workload, TrialOf(workload, 2, 1e-3));
    Record(b, workload, TrialOf(workload, 2, 1.5e-3));
    Record(b, workload, TrialOf(workload, 3, 5e-4));
  }
  Database a = OpenToWrite(one);
  StatusOr<ImportSummary> summary = MergeDatabase(a, two);
  INFO(summary.status());
  REQUIRE(summary.ok());
  CHECK(summary->records == 1);
  CHECK(summary->known == 1);
  CHECK(TrialsOf(a, workload)[1].measurement.seconds == 1e-3);
  CHECK(BestOf(a)[workload.key].seconds == 5e-4);
  CHECK(Message(MergeDatabase(a, folder / "none").status()).find("none") != std::string::npos);
}

TEST_CASE("a merge does not mix comparisons of two files", "[search][database]") {
  DatabaseFolder folder;
  Workload workload = SmallWorkload();
  std::string now = folder / "now.db", before = folder / "before.db";
  for (const std::string& path : {now, before}) {
    Database database = OpenToWrite(path);
    Record(database, workload, TrialOf(workload, 1, 2e-3, "constructed"));
    Record(database, workload, TrialOf(workload, 2, 1e-3));
    std::vector<StoredTrial> compared = {TrialOf(workload, 1, 2e-3, "constructed")};
    if (path == before) compared.push_back(TrialOf(workload, 2, 1.6e-3));
    int64_t id = database.WorkloadId(workload).value();
    int64_t environment = database.EnvironmentId(LocalEnvironment()).value();
    REQUIRE(database.RecordComparison(id, environment, compared).ok());
  }
  Database database = OpenToWrite(now);
  REQUIRE(MergeDatabase(database, before).ok());
  CHECK(BestOf(database).empty());
}

TEST_CASE("the best of each workload and environment is listed", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  FillWithEverything(database);
  StatusOr<std::vector<BestRow>> rows = BestRowsOf(database);
  REQUIRE(rows.ok());
  REQUIRE(rows->size() == 3);
  const BestRow& row = rows->front();
  CHECK(row.name == "add_64");
  CHECK(row.environment.threads == 2);
  CHECK(row.trials == 2);
  CHECK(row.constructed_seconds == 2e-3);
  CHECK(row.best_seconds == 2e-3);
  CHECK(row.searcher == "constructed");

  DatabaseStats stats = StatsOf(database).value();
  CHECK(stats.workloads == 2);
  CHECK(stats.environments == 2);
  CHECK(stats.measurements == 6);
  CHECK(stats.measurements_by_status ==
        std::map<std::string, int64_t>{{"ok", 4}, {"slow", 1}, {"fault", 1}});
}

TEST_CASE("verify names what is wrong", "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(MakeDatabase(folder / "f.db"));
  CHECK(VerifyDatabase(database)->empty());
  SqliteConnection& connection = database.connection();
  REQUIRE(connection.Run("PRAGMA foreign_keys = 0").ok());
  REQUIRE(connection
              .RunScript("UPDATE variant SET text = replace(text, '1.0', '2.0');"
                         "UPDATE candidate SET decisions = 'nothing' WHERE id = 1;"
                         "UPDATE measurement SET status = 'great' WHERE id = 2;"
                         "UPDATE measurement SET environment = 77 WHERE id = 2")
              .ok());
  std::vector<std::string> problems = VerifyDatabase(database).value();
  REQUIRE(problems.size() == 4);
  CHECK(problems[0] == "measurement 2 refers to no row of environment");
  CHECK(problems[1].find("the key of its text is") != std::string::npos);
  CHECK(problems[2].starts_with("candidate 1: decision 'nothing'"));
  CHECK(problems[3] == "measurement 2: status 'great' is not known");
}

TEST_CASE("verify names keys that stand for something else, and schedules that do not replay",
          "[search][database]") {
  DatabaseFolder folder;
  Database database = OpenToWrite(MakeDatabase(folder / "f.db"));
  REQUIRE(database.connection()
              .RunScript("UPDATE environment SET device = 'another';"
                         "UPDATE sketch SET rules = 'others', trace = trace || ' ';"
                         "UPDATE candidate SET decisions = 'b9.i9.1=4' WHERE id = 2;"
                         "UPDATE measurement SET spread = 9e999 WHERE id = 2;"
                         "UPDATE measurement SET seconds = NULL, series = 7 WHERE id = 1")
              .ok());
  std::vector<std::string> problems = VerifyDatabase(database).value();
  REQUIRE(problems.size() >= 5);
  CHECK(problems[0] == "environment 1: its key is not that of its content");
  CHECK(problems[1] == "sketch 1: its key is not that of its content");
  CHECK(problems[2].starts_with("candidate 2: "));
  CHECK(problems[problems.size() - 3] == "measurement 1: it is ok without seconds");
  CHECK(problems[problems.size() - 2] == "measurement 1: there is no series 7");
  CHECK(problems.back() == "measurement 2: a figure is negative or no number");
  CHECK(ExportText(database).ok());
}
