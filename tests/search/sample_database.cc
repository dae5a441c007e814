#include "tests/search/sample_database.h"

#include <stdlib.h>

#include <catch2/catch.hpp>

#include <filesystem>

#include "ir/analysis/canonical.h"
#include "ir/text/parser.h"

namespace tcc {

DatabaseFolder::DatabaseFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "tcc-database-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()));
  path_ = name;
}

DatabaseFolder::~DatabaseFolder() {
  std::error_code error;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
  std::filesystem::remove_all(path_, error);
}

Workload SmallWorkload(int64_t elements) {
  std::string text = fmt::format(R"(fn kernel(p0: f32[{0}], p1: f32[{0}]) tensor {{
  for i0 in 0..{0} @b0/i0 {{
    block b0(i0: spatial {0} = i0) {{
      p1[i0] = p0[i0] + 1.0
    }}
  }}
}}
)",
                                 elements);
  StatusOr<Function> fn = ParseFunction(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  std::string key = FunctionKey(*fn);
  return {{.variants = {*fn}, .inputs = 1, .flops = 64, .moved_bytes = 512},
          key,
          fmt::format("add_{}", elements),
          {key}};
}

Environment LocalEnvironment(int threads) {
  return {.tcc = "0.1.0",
          .target = "native",
          .device = "some CPU",
          .measurer = "local",
          .policy = "rotate-64M",
          .compilers = "LLVM 19",
          .threads = threads};
}

StoredTrial TrialOf(const Workload& workload, int64_t tile, double seconds,
                    const std::string& searcher) {
  StoredTrial trial;
  trial.variant_key = workload.variant_keys[0];
  trial.rules = "tiled";
  trial.schedule.trace = ParseTrace("tile b0.i0.1 1 1000000\nsplit b0/i0 [b0.i0.1]\n").value();
  trial.schedule.decisions = {{"b0.i0.1", tile}};
  trial.lowered_key = fmt::format("lowered {}", tile % 10);
  trial.measurement.seconds = seconds;
  trial.measurement.spread = 0.01;
  trial.measurement.calls = 100;
  trial.searcher = searcher;
  return trial;
}

StoredTrial Failed(StoredTrial trial, MeasureStatus status, const std::string& message) {
  trial.measurement = {.status = status, .message = message};
  return trial;
}

Database OpenToWrite(const std::string& path) {
  StatusOr<Database> database = Database::Open(path, Database::Access::kReadWrite);
  INFO(database.status());
  REQUIRE(database.ok());
  return *std::move(database);
}

void Record(Database& database, const Workload& workload, const StoredTrial& trial,
            const Environment& environment) {
  Status status = database.Record(database.WorkloadId(workload).value(),
                                  database.EnvironmentId(environment).value(), trial);
  INFO(status);
  REQUIRE(status.ok());
}

std::vector<StoredTrial> TrialsOf(Database& database, const Workload& workload,
                                  const Environment& environment) {
  return database
      .TrialsOf(database.WorkloadId(workload).value(), database.EnvironmentId(environment).value())
      .value();
}

TunedSchedules BestOf(const Database& database, const Environment& wanted) {
  StatusOr<TunedSchedules> best = database.Best(wanted);
  INFO(best.status());
  REQUIRE(best.ok());
  return *best;
}

// A database of a workload, with what is compiled without a search and something faster.
std::string MakeDatabase(const std::string& path, int trials) {
  Database database = OpenToWrite(path);
  Workload workload = SmallWorkload();
  Record(database, workload, TrialOf(workload, 1, 2e-3, "constructed"));
  for (int i = 2; i <= trials; ++i) Record(database, workload, TrialOf(workload, i, 1e-3));
  return path;
}

}  // namespace tcc
