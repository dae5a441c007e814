#include "search/model/nearest_ranker.h"

#include <algorithm>
#include <cmath>

namespace tcc {
namespace {

constexpr size_t kNearest = 5;
constexpr size_t kRemembered = 500;      // latest trials that are looked at
constexpr double kNear = 0.25;           // distance that is as good as none
constexpr double kOtherSketch = 4;       // distance between the same sizes of two sketches
constexpr double kFar = 20;              // distance of the mean of all
constexpr double kDeviationRate = 0.02;  // variance per distance

std::vector<double> LogSizes(const Point& point) {
  std::vector<double> logs;
  for (int64_t value : point) logs.push_back(std::log2(static_cast<double>(value)));
  return logs;
}

double DistanceBetween(std::span<const double> a, std::span<const double> b) {
  double distance = 0;
  for (size_t s = 0; s < a.size(); ++s) {
    double difference = a[s] - b[s];
    if (!std::isnan(difference)) distance += difference * difference;
  }
  return distance;
}

struct Weighed {
  double distance;
  double residual;
};

// The residual that a point has by its nearest trials and by the mean of all.
Prediction Average(std::vector<Weighed>& trials, double mean) {
  size_t near = std::min(kNearest, trials.size());
  std::ranges::partial_sort(trials, trials.begin() + static_cast<ptrdiff_t>(near), {},
                            &Weighed::distance);
  double sum = 0, squares = 0, weights = 0;
  auto add = [&](double residual, double weight) {
    sum += weight * residual;
    squares += weight * residual * residual;
    weights += weight;
  };
  add(mean, 1 / (kNear + kFar));
  for (size_t i = 0; i < near; ++i) add(trials[i].residual, 1 / (kNear + trials[i].distance));
  double average = sum / weights;
  double variance = std::max(squares / weights - average * average, 0.0);
  double nearest = trials.empty() ? kFar : trials[0].distance;
  return {average, std::sqrt(variance + kDeviationRate * nearest)};
}

}  // namespace

void NearestRanker::ReadTrials() {
  std::span<const Trial> trials = history_.trials();
  for (; read_ < trials.size(); ++read_) {
    const Trial& trial = trials[read_];
    if (!HasTime(trial.status) || trial.seconds <= 0) continue;
    const SearchSpace* points = space_.Points(trial.point.sketch);
    if (!points) continue;
    TimedTrial& timed = trials_.emplace_back();
    timed.sketch = trial.point.sketch;
    std::vector<double> logs = LogSizes(trial.point.point);
    for (size_t s = 0; s < logs.size(); ++s) {
      timed.log_sizes[points->sizes()[s].var->name] = logs[s];
    }
    timed.ln_seconds = std::log(trial.seconds);
    timed.ln_base = Prediction().ln_seconds;
    if (base_) timed.ln_base = base_->Rank(timed.sketch, {&trial.point.point, 1})[0].ln_seconds;
  }
}

void NearestRanker::ReadAgain() {
  read_ = 0;
  trials_.clear();
}

NearestRanker::Known NearestRanker::KnownOf(size_t sketch, bool on_base) const {
  Known known;
  const SearchSpace& points = *space_.Points(sketch);
  size_t forgotten = trials_.size() - std::min(trials_.size(), kRemembered);
  for (const TimedTrial& trial : std::span(trials_).subspan(forgotten)) {
    double residual = on_base ? trial.ln_seconds - trial.ln_base : trial.ln_seconds;
    if (std::isnan(residual)) continue;
    ++known.trials;
    known.mean += (residual - known.mean) / static_cast<double>(known.trials);
    if (space_.sketch(trial.sketch).variant != space_.sketch(sketch).variant) continue;
    Neighbour& neighbour = known.neighbours.emplace_back();
    neighbour.apart = trial.sketch == sketch ? 0 : kOtherSketch;
    neighbour.residual = residual;
    for (const FreeSize& size : points.sizes()) {
      auto found = trial.log_sizes.find(size.var->name);
      neighbour.log_sizes.push_back(found == trial.log_sizes.end() ? std::nan("") : found->second);
    }
  }
  return known;
}

void NearestRanker::Correct(std::span<const Point> points, const Known& known, bool on_base,
                            std::vector<Prediction>& predictions) {
  std::vector<Weighed> weighed(known.neighbours.size());
  for (size_t p = 0; p < points.size(); ++p) {
    Prediction& prediction = predictions[p];
    if (std::isnan(prediction.ln_seconds) == on_base) continue;
    std::vector<double> at = LogSizes(points[p]);
    for (size_t i = 0; i < weighed.size(); ++i) {
      const Neighbour& neighbour = known.neighbours[i];
      weighed[i] = {neighbour.apart + DistanceBetween(at, neighbour.log_sizes), neighbour.residual};
    }
    Prediction near = Average(weighed, known.mean);
    if (on_base) {
      near.ln_seconds += prediction.ln_seconds;
      near.deviation = std::hypot(near.deviation, prediction.deviation);
    }
    prediction = near;
  }
}

std::vector<Prediction> NearestRanker::Rank(size_t sketch, std::span<const Point> points) {
  ReadTrials();
  predictions_ += std::ssize(points);
  std::vector<Prediction> predictions(points.size());
  if (base_) predictions = base_->Rank(sketch, points);
  if (!space_.Points(sketch)) return predictions;
  for (bool on_base : {true, false}) {
    Known known = KnownOf(sketch, on_base);
    if (known.trials > 0) Correct(points, known, on_base, predictions);
  }
  return predictions;
}

}  // namespace tcc
