#include "bench/estimator/measured_points.h"

#include <algorithm>
#include <filesystem>

#include "compiler/make_backend.h"
#include "compiler/measured_device.h"
#include "compiler/tune_graph.h"
#include "search/candidate/build_candidates.h"

namespace tcc {
namespace {

constexpr size_t kBatch = 16;       // points that are built together
constexpr double kStopBeyond = 10;  // times the constructed candidate
constexpr int kPasses = 2;          // timings of each point, of which the least counts

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

}  // namespace

StatusOr<MeasuringBench> MeasuringBench::Open(const std::string& path, int threads, bool expected) {
  std::error_code ignored;
  if (expected && !std::filesystem::exists(path, ignored)) {
    return InvalidInput("there is no database '{}'", path);
  }
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Access::kReadWrite));
  MeasuringBench bench{.database = std::move(database)};
  TCC_ASSIGN_OR_RETURN(bench.target, FindTarget("native"));
  TCC_ASSIGN_OR_RETURN(bench.backend, MakeBackend(bench.target));
  bench.environment = LocalEnvironment(bench.target, threads);
  TCC_ASSIGN_OR_RETURN(bench.environment_row, bench.database.EnvironmentId(bench.environment));
  return bench;
}

StatusOr<MeasuredPoints> MeasuredPoints::Read(MeasuringBench& bench, const Workload& workload,
                                              TaskSpace& space) {
  MeasuredPoints points(bench, workload, space);
  TCC_ASSIGN_OR_RETURN(points.row_, bench.database.WorkloadId(workload));
  TCC_ASSIGN_OR_RETURN(std::vector<StoredTrial> trials,
                       bench.database.TrialsOf(points.row_, bench.environment_row));
  for (const StoredTrial& trial : trials) {
    auto point = space.Find(trial.variant_key, trial.schedule);
    if (point) points.points_.emplace(*std::move(point), trial.measurement);
  }
  return points;
}

const Measurement* MeasuredPoints::Find(const SearchPoint& point) const {
  auto found = points_.find(point);
  return found == points_.end() ? nullptr : &found->second;
}

double MeasuredPoints::BestSeconds() const {
  double best = 0;
  for (const auto& [point, measurement] : points_) {
    if (measurement.status != MeasureStatus::kOk) continue;
    if (best == 0 || measurement.seconds < best) best = measurement.seconds;
  }
  return best;
}

Status MeasuredPoints::Measure(std::span<const SearchPoint> points) {
  std::vector<SearchPoint> unknown;
  for (const SearchPoint& point : points) {
    if (!Find(point)) unknown.push_back(point);
  }
  if (unknown.empty()) return OkStatus();
  if (!measurer_) TCC_RETURN_IF_ERROR(OpenMeasurer());
  for (size_t first = 0; first < unknown.size(); first += kBatch) {
    size_t count = std::min(kBatch, unknown.size() - first);
    TCC_RETURN_IF_ERROR(MeasureBatch(std::span(unknown).subspan(first, count)));
  }
  return OkStatus();
}

// The start of the first sketch is what others are compared with.
Status MeasuredPoints::OpenMeasurer() {
  std::optional<SearchPoint> start = space_->Start(0);
  if (!start) return InvalidInput("kernel '{}' has no schedule", workload_->name);
  TCC_ASSIGN_OR_RETURN(
      measurer_,
      MakeLocalMeasurer(
          {.runner = {.hello = {.threads = static_cast<uint32_t>(bench_->environment.threads)}}}));
  Candidate candidate = space_->ToCandidate(*start);
  BuildOptions options{.target = bench_->target, .backend = bench_->backend.get()};
  BuiltCandidate reference = BuildCandidates(*workload_, {&candidate, 1}, options)[0];
  TCC_RETURN_IF_ERROR(reference.status);
  TCC_ASSIGN_OR_RETURN(Measurement constructed, measurer_->Open(*workload_, reference.artefact));
  stop_beyond_ = kStopBeyond * constructed.seconds;
  return OkStatus();
}

Status MeasuredPoints::MeasureBatch(std::span<const SearchPoint> points) {
  std::vector<Candidate> candidates;
  for (const SearchPoint& point : points) candidates.push_back(space_->ToCandidate(point));
  BuildOptions options{.target = bench_->target,
                       .backend = bench_->backend.get(),
                       .threads = bench_->environment.threads};
  std::vector<BuiltCandidate> built = BuildCandidates(*workload_, candidates, options);
  std::vector<Measurement> best;
  for (int pass = 0; pass < kPasses; ++pass) {
    TCC_ASSIGN_OR_RETURN(std::vector<Measurement> measured,
                         MeasurePass(*measurer_, built, stop_beyond_));
    if (best.empty()) best = measured;
    for (size_t i = 0; i < measured.size(); ++i) {
      bool timed = measured[i].status == MeasureStatus::kOk && best[i].status == measured[i].status;
      if (timed && measured[i].seconds < best[i].seconds) best[i] = measured[i];
    }
  }
  for (size_t i = 0; i < points.size(); ++i) {
    const Schedule& schedule = candidates[i].schedule;
    StoredTrial trial{.variant_key = workload_->variant_keys[schedule.variant],
                      .rules = candidates[i].rules,
                      .schedule = schedule,
                      .lowered_key = built[i].lowered_key,
                      .measurement = best[i],
                      .build_seconds = built[i].build_seconds,
                      .searcher = "bench"};
    TCC_RETURN_IF_ERROR(bench_->database.Record(row_, bench_->environment_row, trial));
    points_.emplace(points[i], best[i]);
  }
  return OkStatus();
}

}  // namespace tcc
