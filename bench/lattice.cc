// tcc-bench lattice: measures every point of small spaces, for searchers to be compared on.

#include "bench/search/lattice.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <set>

#include "bench/subcommand.h"
#include "compiler/compile_graph.h"
#include "compiler/tune_graph.h"
#include "runtime/executor/usable_cpus.h"
#include "search/measure/local_measurer.h"
#include "search/measure/measuring_lock.h"

namespace tcc {
namespace {

struct LatticeBench {
  std::vector<std::string> kernels;
  std::string db;
  size_t most = 1500;
  int threads = 0;
};

constexpr size_t kBatch = 16;
constexpr double kStopBeyond = 10;  // times the constructed candidate
constexpr int kPasses = 2;          // a point has the lesser time

// What all points of a lattice are measured with.
struct Bench {
  Database database;
  Target target = {};
  std::unique_ptr<Backend> backend = nullptr;
  int threads = 1;
  int64_t environment = 0;
};

// Times each artefact of the open task once.
StatusOr<std::vector<Measurement>> MeasurePass(Measurer& measurer,
                                               const std::vector<BuiltCandidate>& built,
                                               double stop_beyond) {
  std::vector<Measurement> measurements;
  for (const BuiltCandidate& candidate : built) {
    if (!candidate.status.ok()) {
      measurements.push_back(
          {.status = candidate.refused ? MeasureStatus::kRefused : MeasureStatus::kBuildFailed,
           .message = Message(candidate.status)});
      continue;
    }
    measurer.Submit({.id = 0, .artefact = candidate.artefact, .stop_beyond = stop_beyond});
    TCC_ASSIGN_OR_RETURN(std::optional<MeasureReport> report, measurer.Take());
    if (!report) return absl::InternalError("the measurer lost a candidate");
    measurements.push_back(report->measurement);
  }
  return measurements;
}

Status MeasureBatch(Bench& bench, const Workload& workload, int64_t row, Measurer& measurer,
                    std::span<const Candidate> candidates, double stop_beyond) {
  BuildOptions options{
      .target = bench.target, .backend = bench.backend.get(), .threads = bench.threads};
  std::vector<BuiltCandidate> built = BuildCandidates(workload, candidates, options);
  std::vector<Measurement> best;
  for (int pass = 0; pass < kPasses; ++pass) {
    TCC_ASSIGN_OR_RETURN(std::vector<Measurement> measured,
                         MeasurePass(measurer, built, stop_beyond));
    if (best.empty()) best = measured;
    for (size_t i = 0; i < measured.size(); ++i) {
      bool timed = measured[i].status == MeasureStatus::kOk && best[i].status == measured[i].status;
      if (timed && measured[i].seconds < best[i].seconds) best[i] = measured[i];
    }
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Schedule& schedule = candidates[i].schedule;
    TCC_RETURN_IF_ERROR(
        bench.database.Record(row, bench.environment,
                              {.variant_key = workload.variant_keys[schedule.variant],
                               .rules = candidates[i].rules,
                               .schedule = schedule,
                               .lowered_key = built[i].lowered_key,
                               .measurement = best[i],
                               .build_seconds = built[i].build_seconds,
                               .searcher = "lattice"}));
  }
  return OkStatus();
}

Status MeasureLattice(Bench& bench, const BenchKernel& kernel, size_t most) {
  Workload workload = WorkloadOf(kernel);
  TaskSpace space(workload, bench.target, LatticeOf(workload, bench.target, most));
  if (space.size() == 0) return InvalidInput("kernel '{}' has no sketch", kernel.name);
  std::vector<SearchPoint> points = PointsOf(space);
  TCC_ASSIGN_OR_RETURN(int64_t row, bench.database.WorkloadId(workload));
  TCC_ASSIGN_OR_RETURN(std::vector<StoredTrial> known,
                       bench.database.TrialsOf(row, bench.environment));
  std::set<SearchPoint> measured;
  for (const StoredTrial& trial : known) {
    if (auto point = space.Find(trial.variant_key, trial.schedule)) measured.insert(*point);
  }
  std::erase_if(points, [&](const SearchPoint& point) { return measured.contains(point); });
  fmt::print("{}: {} sketches, {} points measured, {} to go\n", kernel.name, space.size(),
             measured.size(), points.size());
  std::fflush(stdout);
  if (points.empty()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Measurer> measurer,
                       MakeLocalMeasurer({.threads = bench.threads}));
  Candidate start = space.ToCandidate(*space.Start(0));
  BuildOptions options{.target = bench.target, .backend = bench.backend.get()};
  BuiltCandidate reference = BuildCandidates(workload, {&start, 1}, options)[0];
  TCC_RETURN_IF_ERROR(reference.status);
  TCC_ASSIGN_OR_RETURN(Measurement constructed, measurer->Open(workload, reference.artefact));
  for (size_t first = 0; first < points.size(); first += kBatch) {
    std::vector<Candidate> batch;
    for (size_t i = first; i < std::min(first + kBatch, points.size()); ++i) {
      batch.push_back(space.ToCandidate(points[i]));
    }
    TCC_RETURN_IF_ERROR(
        MeasureBatch(bench, workload, row, *measurer, batch, kStopBeyond * constructed.seconds));
  }
  return OkStatus();
}

Status RunLattice(const LatticeBench& options) {
  if (options.db.empty()) return InvalidInput("--db: expected the file that times are kept in");
  TCC_ASSIGN_OR_RETURN(std::vector<BenchKernel> kernels, KernelsNamed(options.kernels));
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(options.db, Database::Access::kReadWrite));
  Bench bench{.database = std::move(database)};
  bench.threads = options.threads > 0 ? options.threads : UsableCpus();
  TCC_ASSIGN_OR_RETURN(bench.target, FindTarget("native"));
  TCC_ASSIGN_OR_RETURN(bench.backend, MakeBackend(bench.target));
  TCC_ASSIGN_OR_RETURN(bench.environment,
                       bench.database.EnvironmentId(LocalEnvironment(bench.target, bench.threads)));
  auto say = [](const std::string& message) { fmt::print(stderr, "tcc-bench: {}\n", message); };
  TCC_ASSIGN_OR_RETURN(MeasuringLock lock, MeasuringLock::Acquire({.say = say}));
  for (const BenchKernel& kernel : kernels) {
    TCC_RETURN_IF_ERROR(MeasureLattice(bench, kernel, options.most));
  }
  return OkStatus();
}

}  // namespace

BenchAction DeclareLattice(CLI::App& app) {
  auto options = std::make_shared<LatticeBench>();
  app.add_option("--kernels", options->kernels, "Kernels of the suites, by name")
      ->delimiter(',')
      ->required();
  app.add_option("--db", options->db, "Database for the times; known points are not repeated");
  app.add_option("--most", options->most, "Points of a kernel, about")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--threads", options->threads, "Threads that build and that kernels run on")
      ->check(CLI::Range(0, 1024));
  return [options] { return RunLattice(*options); };
}

}  // namespace tcc
