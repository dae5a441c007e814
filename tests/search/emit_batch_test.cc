#include "search/tuning/emit_batch.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/measure/batch_results.h"
#include "schedule/space/schedule.h"
#include "search/database/import_results.h"
#include "tests/search/sample_database.h"
#include "tests/search/sample_workloads.h"

namespace tcc {
namespace {

using Catch::Contains;

std::vector<Workload> TwoProducts() {
  std::vector<Workload> workloads = {
      ProductWorkload("large", {.rows = 512, .columns = 512, .depth = 512}),
      ProductWorkload("small", {.rows = 64, .columns = 64, .depth = 64})};
  workloads[0].runs = 4;
  return workloads;
}

EmitOptions Options(int64_t candidates) {
  return {.target = FindTarget("sm_86").value(),
          .measuring = {.policy = MeasurePolicy::kRotateL2},
          .candidates = candidates,
          .seed = 3};
}

// Gives each schedule an artefact of its own without building it, but refuses some.
struct FakeBuild {
  std::set<std::string> refused = {};  // names of workloads

  std::vector<BuiltCandidate> operator()(const Workload& workload,
                                         std::span<const Candidate> candidates,
                                         const BuildFilter& filter) const {
    std::vector<BuiltCandidate> built;
    for (const Candidate& candidate : candidates) {
      BuiltCandidate& one = built.emplace_back();
      if (refused.contains(workload.name)) {
        one.status = InvalidInput("too large for anybody");
        continue;
      }
      one.lowered_key = ToHex(Sha256(workload.key + Print(candidate.schedule)));
      one.code_size = 100;
      one.known = filter.known && filter.known(one.lowered_key);
      if (!one.known) one.artefact.assign(one.lowered_key.begin(), one.lowered_key.end());
    }
    return built;
  }
};

CandidateBatch BatchOf(const BatchWriter& writer) {
  StatusOr<CandidateBatch> batch = CandidateBatch::Parse(OwnBytes(writer.Bytes()));
  INFO(batch.status());
  REQUIRE(batch.ok());
  return *std::move(batch);
}

BatchWriter Emitted(const std::vector<Workload>& workloads, const EmitOptions& options,
                    const FakeBuild& build = {},
                    std::span<const std::vector<StoredTrial>> known = {}) {
  BatchWriter writer({.tcc = "0.1", .target = "sm_86", .compilers = "NVRTC 13.0"});
  Status status = EmitBatch(workloads, options, build, known, writer);
  INFO(status);
  REQUIRE(status.ok());
  return writer;
}

// Results of all artefacts of the batch, the later the slower.
std::string ResultsOf(const CandidateBatch& batch) {
  std::string text = LineOf(BatchRun{.batch = ToHex(batch.digest()),
                                     .device = "NVIDIA Sample, sm_86",
                                     .driver = "13.0",
                                     .policy = std::string(NameOf(batch.policy()))});
  int64_t at = 1;
  auto add = [&](const BatchTask& task, const Sha256Digest& digest) {
    text += LineOf(BatchResult{
        .artefact = ToHex(digest),
        .task = task.name,
        .measurement = {.seconds = 1e-6 * static_cast<double>(at), .calls = 10, .message = ""},
        .at = at});
    ++at;
  };
  for (const BatchTask& task : batch.tasks()) {
    add(task, task.reference);
    for (const Sha256Digest& digest : task.candidates) add(task, digest);
  }
  return text;
}

}  // namespace

TEST_CASE("a batch has more candidates of the kernel that takes the network longer",
          "[search][batch]") {
  const CandidateBatch batch = BatchOf(Emitted(TwoProducts(), Options(60)));
  REQUIRE(batch.tasks().size() == 2);
  const BatchTask& large = batch.tasks()[0];
  const BatchTask& small = batch.tasks()[1];
  CHECK(large.name == "large");
  CHECK(large.candidates.size() > 3 * small.candidates.size());
  CHECK(small.candidates.size() >= static_cast<size_t>(kMinEmitted));
  CHECK(large.candidates.size() + small.candidates.size() == 60);
  CHECK(large.message.policy == MeasurePolicy::kRotateL2);
}

TEST_CASE("few candidates are still enough for each kernel", "[search][batch]") {
  const CandidateBatch batch = BatchOf(Emitted(TwoProducts(), Options(1)));
  for (const BatchTask& task : batch.tasks()) {
    CHECK(task.candidates.size() == static_cast<size_t>(kMinEmitted));
  }
}

TEST_CASE("the same seed emits the same batch, another one another", "[search][batch]") {
  EmitOptions options = Options(40);
  const std::vector<uint8_t> bytes = Emitted(TwoProducts(), options).Bytes();
  CHECK(bytes == Emitted(TwoProducts(), options).Bytes());
  options.seed = 4;
  CHECK(bytes != Emitted(TwoProducts(), options).Bytes());
}

TEST_CASE("a kernel that cannot be built is left out with a warning", "[search][batch]") {
  std::vector<std::string> warnings;
  EmitOptions options = Options(20);
  options.warn = [&](const std::string& message) { warnings.push_back(message); };
  const CandidateBatch batch = BatchOf(Emitted(TwoProducts(), options, {.refused = {"large"}}));
  REQUIRE(batch.tasks().size() == 1);
  CHECK(batch.tasks()[0].name == "small");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == "kernel 'large': too large for anybody; it is left out");

  BatchWriter none({});
  Status status =
      EmitBatch(TwoProducts(), options, FakeBuild{.refused = {"large", "small"}}, {}, none);
  CHECK(absl::IsInvalidArgument(status));
  CHECK_THAT(Message(status), Contains("nothing can be measured: kernel 'small'"));
}

TEST_CASE("an imported batch is a device's trials, which are not emitted again",
          "[search][batch]") {
  const std::vector<Workload> workloads = TwoProducts();
  const EmitOptions options = Options(40);
  const CandidateBatch batch = BatchOf(Emitted(workloads, options));
  StatusOr<std::string> text = ExportOfResults(batch, ResultsOf(batch));
  INFO(text.status());
  REQUIRE(text.ok());
  DatabaseFolder folder;
  Database database = OpenToWrite(folder / "f.db");
  StatusOr<ImportSummary> summary = ImportText(database, *text, {.keep_measurer = true});
  INFO(summary.status());
  REQUIRE(summary.ok());
  CHECK(summary->workloads == 2);
  CHECK(summary->records == 42);

  StatusOr<int64_t> environment = database.EnvironmentId({.tcc = "0.1",
                                                          .target = "sm_86",
                                                          .device = "NVIDIA Sample, sm_86",
                                                          .measurer = "local",
                                                          .policy = "rotate-L2",
                                                          .compilers = "NVRTC 13.0"});
  REQUIRE(environment.ok());
  std::vector<std::vector<StoredTrial>> known;
  for (const Workload& workload : workloads) {
    known.push_back(database.TrialsOf(database.WorkloadId(workload).value(), *environment).value());
    REQUIRE(!known.back().empty());
    CHECK(known.back()[0].searcher == "constructed");
  }
  CHECK(known[0].size() + known[1].size() == 42);

  const CandidateBatch next = BatchOf(Emitted(workloads, options, {}, known));
  std::set<Sha256Digest> before;
  for (const BatchTask& task : batch.tasks()) {
    before.insert(task.candidates.begin(), task.candidates.end());
  }
  for (size_t t = 0; t < next.tasks().size(); ++t) {
    CHECK(next.tasks()[t].reference == batch.tasks()[t].reference);
    for (const Sha256Digest& digest : next.tasks()[t].candidates) {
      CHECK_FALSE(before.contains(digest));
    }
  }
}

TEST_CASE("results that do not fit the batch are refused with the line", "[search][batch]") {
  const CandidateBatch batch = BatchOf(Emitted(TwoProducts(), Options(1)));
  const std::string good = ResultsOf(batch);
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    if (bytes > 0 && good[bytes - 1] == '\n') continue;  // an earlier end of the run
    Status status = ExportOfResults(batch, good.substr(0, bytes)).status();
    CHECK_THAT(Message(status), Contains("the line is cut off"));
  }
  EmitOptions options = Options(1);
  options.seed = 9;
  const CandidateBatch other = BatchOf(Emitted(TwoProducts(), options));
  CHECK_THAT(Message(ExportOfResults(other, good).status()),
             Contains("line 1: results of batch '" + ToHex(batch.digest())));
  std::string twice = good + good.substr(good.find('\n') + 1);
  CHECK_THAT(Message(ExportOfResults(batch, twice).status()), Contains("comes twice"));
}

}  // namespace tcc
