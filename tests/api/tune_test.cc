#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "tests/api/planted_database.h"
#include "tests/api/run_module.h"
#include "tests/api/temporary_folder.h"
#include "tests/compiler/onnx_models.h"

// Tuning as a program outside does it; candidates run in the worker that users get. No header of
// the compiler in here.
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

// TCC_WORKER with another value.
class OtherWorker {
 public:
  explicit OtherWorker(const char* value) {
    if (const char* before = std::getenv("TCC_WORKER")) before_ = before;
    setenv("TCC_WORKER", value, 1);
  }
  OtherWorker(const OtherWorker&) = delete;
  OtherWorker& operator=(const OtherWorker&) = delete;
  ~OtherWorker() {
    if (before_) setenv("TCC_WORKER", before_->c_str(), 1);
    if (!before_) unsetenv("TCC_WORKER");
  }

 private:
  std::optional<std::string> before_;
};

tcc::TuneOptions OptionsFor(const std::string& database, int64_t trials) {
  tcc::TuneOptions options;
  options.database = database;
  options.trials = trials;
  return options;
}

tcc::TuneSummary Tuned(const std::vector<uint8_t>& model, const tcc::TuneOptions& options) {
  tcc::Result<tcc::TuneSummary> summary = tcc::Tune(std::span(model), options);
  INFO(summary.status().message());
  REQUIRE(summary.ok());
  return *summary;
}

std::string PropertyOf(const tcc::Module& module, const std::string& wanted) {
  for (const auto& [key, value] : module.properties()) {
    if (key == wanted) return value;
  }
  return "";
}

// Checks that the artefact answers as the reference does.
void CheckAnswers(const std::vector<uint8_t>& model, const tcc::Artefact& artefact) {
  std::vector<float> got = RunOnce(Loaded(tcc::Module::Load(artefact)));
  std::vector<float> expected =
      RunOnce(Loaded(tcc::Module::Load(Compiled(model, {.target = "reference"}))));
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i] == Approx(expected[i]).epsilon(1e-4).margin(1e-5));
  }
}

std::string ContentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_CASE("tuning records what it measures, and the model is compiled by it", "[api][tune]") {
  TemporaryFolder folder("tcc_tune_test");
  std::vector<uint8_t> model = SmallNetwork("dqn");
  std::ofstream(folder / "dqn.onnx", std::ios::binary)
      .write(reinterpret_cast<const char*>(model.data()), std::ssize(model));
  tcc::TuneOptions options = OptionsFor(folder / "f.db", 12);
  options.seed = 3;
  std::vector<int64_t> told;
  std::set<std::string> kernels_told;
  std::map<std::string, int64_t> statuses_told;
  double before = 0;
  options.progress = [&](const tcc::TuneProgress& progress) {
    told.push_back(progress.trials);
    kernels_told.emplace(progress.kernel);
    ++statuses_told[std::string(progress.status)];
    CHECK(!progress.searcher.empty());
    CHECK(progress.seconds >= before);
    before = progress.seconds;
  };
  tcc::Result<tcc::TuneSummary> summary = tcc::Tune(folder / "dqn.onnx", options);
  INFO(summary.status().message());
  REQUIRE(summary.ok());

  CHECK(told == std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(summary->trials == 12);
  CHECK(summary->statuses == statuses_told);
  int64_t trials = 0;
  std::set<std::string> tuned;
  for (const tcc::TunedKernel& kernel : summary->kernels) {
    INFO(kernel.name << ": " << kernel.problem);
    trials += kernel.trials;
    if (kernel.trials > 0) tuned.insert(kernel.name);
    CHECK(kernel.runs >= 1);
    CHECK(kernel.constructed_seconds > 0);
    CHECK(kernel.best_seconds > 0);
    CHECK(!kernel.best_searcher.empty());
    CHECK(kernel.problem.empty());
  }
  CHECK(trials == 12);
  CHECK(tuned == kernels_told);
  // Where nothing seems faster there is no comparison.
  CHECK((summary->model_constructed_seconds > 0) == (summary->model_best_seconds > 0));

  // With one thread and with two, and while nothing can be measured.
  OtherWorker none("/nowhere/tcc-worker");
  tcc::CompileOptions compile{.database = options.database};
  compile.threads = 1;
  tcc::Artefact first = Compiled(model, compile);
  compile.threads = 2;
  CHECK(Compiled(model, compile).Bytes() == first.Bytes());
  CheckAnswers(model, first);
}

TEST_CASE("a stop request ends tuning and keeps what was recorded", "[api][tune]") {
  TemporaryFolder folder("tcc_tune_test");
  std::vector<uint8_t> model = SmallNetwork("dqn");
  tcc::TuneOptions options = OptionsFor(folder / "f.db", 100000);
  std::stop_source source;
  options.compile.cancellation = source.get_token();
  options.progress = [&](const tcc::TuneProgress& progress) {
    CHECK(progress.searcher == "constructed");
    if (progress.trials == 2) source.request_stop();
  };
  tcc::TuneSummary summary = Tuned(model, options);
  CHECK(summary.trials == 2);
  CHECK(summary.model_best_seconds == 0);
  REQUIRE(summary.kernels.size() > 2);

  // The next run goes on with the other kernels.
  auto kernels = static_cast<int64_t>(summary.kernels.size());
  int64_t constructed = 0;
  options = OptionsFor(folder / "f.db", kernels);
  options.progress = [&](const tcc::TuneProgress& progress) {
    constructed += progress.searcher == "constructed";
  };
  CHECK(Tuned(model, options).trials == kernels);
  CHECK(constructed == kernels - 2);
}

TEST_CASE("an end before any kernel ran is an error", "[api][tune]") {
  TemporaryFolder folder("tcc_tune_test");
  std::vector<uint8_t> model = AddModel();
  tcc::TuneOptions options = OptionsFor(folder / "f.db", 4);
  std::stop_source source;
  source.request_stop();
  options.compile.cancellation = source.get_token();
  CHECK(tcc::Tune(model, options).status().code() == tcc::Code::kCancelled);

  options = OptionsFor(folder / "f.db", 0);
  options.seconds = 1e-9;
  tcc::Status status = tcc::Tune(model, options).status();
  CHECK(status.code() == tcc::Code::kBudget);
  CHECK_THAT(status.message(), Contains("without a valid kernel"));
}

TEST_CASE("tuning that cannot begin is refused by name", "[api][tune]") {
  TemporaryFolder folder("tcc_tune_test");
  std::vector<uint8_t> model = AddModel();
  const std::string database = folder / "f.db";
  auto refused = [&](const tcc::TuneOptions& options, tcc::Code code, const std::string& what) {
    tcc::Status status = tcc::Tune(model, options).status();
    CHECK(status.code() == code);
    CHECK_THAT(status.message(), Contains(what) && !Contains("--"));
  };
  using Code = tcc::Code;

  tcc::TuneOptions options = OptionsFor(database, 4);
  options.searcher = "oracle";
  refused(options, Code::kUsage, "there is no searcher 'oracle'; this version has auto, random, ");
  refused(options, Code::kUsage, "(TuneOptions::searcher)");

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double endless = std::numeric_limits<double>::infinity();
  struct Budget {
    double seconds;
    int64_t trials;
  };
  for (const Budget& budget : {Budget{0, 0},
                               {10, 4},
                               {-1, 0},
                               {0, -1},
                               {10, -1},
                               {-1, 4},
                               {nan, 0},
                               {nan, 4},
                               {endless, 0},
                               {endless, 4}}) {
    INFO(budget.seconds << " " << budget.trials);
    options = OptionsFor(database, budget.trials);
    options.seconds = budget.seconds;
    refused(options, Code::kUsage, "(TuneOptions::seconds, TuneOptions::trials)");
  }

  refused(OptionsFor("", 4), Code::kUsage, "(TuneOptions::database)");
  refused(OptionsFor("/nowhere/f.db", 4), Code::kBadInput, "/nowhere/f.db");
  std::ofstream(folder / "foreign.db") << "my notes";
  refused(OptionsFor(folder / "foreign.db", 4), Code::kBadInput, "is not a database of tcc");
  CHECK(ContentOf(folder / "foreign.db") == "my notes");

  options = OptionsFor(database, 4);
  options.compile.target = "sm_86";
  refused(options, Code::kMissing, "'sm_86' cannot be measured");
  options.compile.target = "vax";
  refused(options, Code::kUsage, "'vax'");
  CHECK(tcc::Tune("/nowhere/model.onnx", OptionsFor(database, 4)).status().code() ==
        Code::kBadInput);
  OtherWorker none("/nowhere/tcc-worker");
  refused(OptionsFor(database, 4), Code::kMissing, "TCC_WORKER is /nowhere/tcc-worker");
}

TEST_CASE("kernels without a schedule get the best of a database", "[api][tune]") {
  TemporaryFolder folder("tcc_tune_test");
  std::vector<uint8_t> model = SmallNetwork("dqn");
  tcc::CompileOptions options{.database = folder / "f.db"};
  const int planted = PlantFasterSchedules("dqn", options.database);
  REQUIRE(planted > 0);
  std::vector<std::string> lines;
  options.logger = [&](tcc::LogLevel, std::string_view line) { lines.emplace_back(line); };
  tcc::Artefact artefact = Compiled(model, options);
  REQUIRE(!lines.empty());
  CHECK_THAT(lines.back(), Contains("kernels as they were tuned"));
  const std::string tuned = PropertyOf(Loaded(tcc::Module::Load(artefact)), "tuned_kernels");
  for (const std::string& line : lines) UNSCOPED_INFO(line);
  REQUIRE(!tuned.empty());
  CHECK(std::stoi(tuned) >= planted);
  CheckAnswers(model, artefact);

  std::vector<tcc::Kernel> kernels = tcc::Kernels(std::span(model), options).value();
  std::vector<tcc::Kernel> defaults = tcc::Kernels(std::span(model)).value();
  REQUIRE(kernels.size() == defaults.size());
  int different = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    different += kernels[i].schedule != defaults[i].schedule;
    options.schedules[defaults[i].name] = defaults[i].schedule;
  }
  CHECK(different >= planted);

  // Schedules of the caller's come first. Notes tell that they were given.
  options.notes = false;
  tcc::Artefact as_given = Compiled(model, options);
  CHECK(PropertyOf(Loaded(tcc::Module::Load(as_given)), "tuned_kernels").empty());
  CHECK(as_given.Bytes() == Compiled(model, {.notes = false}).Bytes());
}

TEST_CASE("a database that is not there or none is refused by a compilation", "[api][tune]") {
  TemporaryFolder folder("tcc_tune_test");
  std::vector<uint8_t> model = AddModel();
  std::ofstream(folder / "foreign.db") << "my notes";
  for (const char* name : {"absent.db", "foreign.db"}) {
    tcc::Status status = tcc::Compile(std::span(model), {.database = folder / name}).status();
    CHECK(status.code() == tcc::Code::kBadInput);
    CHECK_THAT(status.message(), Contains(name));
  }
  CHECK_FALSE(fs::exists(folder / "absent.db"));
}

}  // namespace
