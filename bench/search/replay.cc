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

StatusOr<SearchCurve> RunSearch(TaskTuner& tuner, size_t trials, size_t batch,
                                const PointTimes& times) {
  SearchCurve curve;
  double best = std::numeric_limits<double>::infinity();
  while (curve.best.size() < trials) {
    double start = ThreadSeconds();
    std::vector<Proposal> proposals = tuner.Propose(std::min(batch, trials - curve.best.size()));
    curve.cpu_seconds += ThreadSeconds() - start;
    if (proposals.empty()) break;
    std::vector<SearchPoint> points;
    for (const Proposal& proposal : proposals) points.push_back(proposal.point);
    TCC_ASSIGN_OR_RETURN(std::vector<Measurement> measured, times(points));
    for (size_t i = 0; i < points.size(); ++i) {
      tuner.Observe(proposals[i], measured[i]);
      if (measured[i].status == MeasureStatus::kOk) best = std::min(best, measured[i].seconds);
      curve.best.push_back(best);
    }
  }
  // A search that has seen all points stays where it is.
  curve.best.resize(trials, best);
  curve.predictions = tuner.predictions();
  return curve;
}

}  // namespace tcc
