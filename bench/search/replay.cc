#include "bench/search/replay.h"

#include <algorithm>
#include <ctime>
#include <limits>

namespace tcc {
namespace {

double ThreadSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

StatusOr<MeasuredLattice> ReadLattice(const BenchKernel& kernel, size_t most, const Target& target,
                                      const Environment& environment, Database& database) {
  MeasuredLattice lattice{.workload = WorkloadOf(kernel)};
  lattice.sketches = LatticeOf(lattice.workload, target, most);
  TaskSpace space = lattice.Space(target);
  TCC_ASSIGN_OR_RETURN(int64_t row, database.WorkloadId(lattice.workload));
  TCC_ASSIGN_OR_RETURN(int64_t environment_row, database.EnvironmentId(environment));
  TCC_ASSIGN_OR_RETURN(std::vector<StoredTrial> trials, database.TrialsOf(row, environment_row));
  for (const StoredTrial& trial : trials) {
    auto point = space.Find(trial.variant_key, trial.schedule);
    if (point) lattice.points.emplace(*std::move(point), trial.measurement);
  }
  size_t points = PointsOf(space).size();
  if (lattice.points.size() < points) {
    return InvalidInput(
        "kernel '{}': {} of its lattice's {} points are measured; expected all of "
        "them (tcc-bench lattice with the same --most and --threads)",
        kernel.name, lattice.points.size(), points);
  }
  for (const auto& [point, measurement] : lattice.points) {
    if (measurement.status != MeasureStatus::kOk) continue;
    double& best = lattice.best_seconds;
    if (best == 0 || measurement.seconds < best) best = measurement.seconds;
  }
  if (lattice.best_seconds > 0) return lattice;
  return InvalidInput("kernel '{}': no point of its lattice is right", kernel.name);
}

SearchCurve ReplaySearch(const MeasuredLattice& lattice, const Target& target,
                         const TaskTunerOptions& options, size_t trials, size_t batch) {
  double start = ThreadSeconds();
  TaskTuner tuner(lattice.workload, target, lattice.Space(target), options);
  SearchCurve curve;
  double best = std::numeric_limits<double>::infinity();
  while (curve.best.size() < trials) {
    std::vector<Proposal> proposals = tuner.Propose(std::min(batch, trials - curve.best.size()));
    if (proposals.empty()) break;
    for (const Proposal& proposal : proposals) {
      const Measurement& measurement = lattice.points.at(proposal.point);
      tuner.Observe(proposal, measurement);
      if (measurement.status == MeasureStatus::kOk) best = std::min(best, measurement.seconds);
      curve.best.push_back(best);
    }
  }
  // A search that has seen all points stays where it is.
  curve.best.resize(trials, best);
  curve.predictions = tuner.predictions();
  curve.cpu_seconds = ThreadSeconds() - start;
  return curve;
}

}  // namespace tcc
