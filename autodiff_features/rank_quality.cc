#include "autodiff_features/rank_quality.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "support/check.h"

namespace tcc {
namespace {

std::vector<size_t> PrecisePoints(const MeasuredTask& task) {
  std::vector<size_t> points;
  for (size_t p = 0; p < task.points.size(); ++p) {
    if (task.points[p].precise) points.push_back(p);
  }
  return points;
}

// Equal values get the mean of their ranks.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    }
    first = end;
  }
  return ranks;
}

double CorrelationOf(const std::vector<double>& a, const std::vector<double>& b) {
  double count = static_cast<double>(a.size());
  double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / count;
  double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / count;
  double both = 0, squares_a = 0, squares_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    squares_a += (a[i] - mean_a) * (a[i] - mean_a);
    squares_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return squares_a == 0 || squares_b == 0 ? 0 : both / std::sqrt(squares_a * squares_b);
}

// Adds figures of tasks and divides them in the end.
class QualitySum {
 public:
  void Add(const MeasuredTask& task, const PairCount& pairs, double first, double some,
           double spearman) {
    quality_.points += std::ssize(task.points);
    quality_.pairs.right += pairs.right;
    quality_.pairs.pairs += pairs.pairs;
    if (task.points.size() < kMinPoints) return;
    ++quality_.tasks;
    quality_.regret_first += first;
    quality_.regret_16 += some;
    quality_.spearman += spearman;
  }
  RankQuality Mean() {
    double tasks = static_cast<double>(std::max<int64_t>(quality_.tasks, 1));
    quality_.regret_first /= tasks;
    quality_.regret_16 /= tasks;
    quality_.spearman /= tasks;
    return quality_;
  }

 private:
  RankQuality quality_;
};

// Calls `f` with the places of each pair of precise points that take at most `within` times the
// task's best and differ by more than the noise of both.
void ForEachJudgedPair(const MeasuredTask& task, double within,
                       const std::function<void(size_t, size_t)>& f) {
  double limit = within * task.BestSeconds();
  std::vector<size_t> points = PrecisePoints(task);
  std::erase_if(points, [&](size_t p) { return task.points[p].seconds > limit; });
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const MeasuredPoint &a = task.points[points[i]], &b = task.points[points[j]];
      if (std::abs(std::log(a.seconds / b.seconds)) > a.noise + b.noise) f(points[i], points[j]);
    }
  }
}

}  // namespace

double Comparable(double predicted) {
  return std::isnan(predicted) ? std::numeric_limits<double>::infinity() : predicted;
}

PairCount CountPairs(const MeasuredTask& task, std::span<const double> predicted, double within) {
  TCC_CHECK(predicted.size() == task.points.size()) << predicted.size();
  PairCount count;
  ForEachJudgedPair(task, within, [&](size_t a, size_t b) {
    double of_a = Comparable(predicted[a]), of_b = Comparable(predicted[b]);
    bool right = (of_a < of_b) == (task.points[a].seconds < task.points[b].seconds);
    count.right += of_a == of_b ? 0.5 : (right ? 1.0 : 0.0);
    ++count.pairs;
  });
  return count;
}

double RegretOf(const MeasuredTask& task, std::span<const double> predicted, size_t count) {
  TCC_CHECK(predicted.size() == task.points.size()) << predicted.size();
  if (task.points.empty()) return 0;
  std::vector<size_t> order(task.points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return std::pair(Comparable(predicted[a]), -task.points[a].seconds) <
           std::pair(Comparable(predicted[b]), -task.points[b].seconds);
  });
  double found = task.points[order[0]].seconds;
  for (size_t i = 0; i < std::min(count, order.size()); ++i) {
    found = std::min(found, task.points[order[i]].seconds);
  }
  return found / task.BestSeconds() - 1;
}

double RandomRegret(const MeasuredTask& task, size_t count) {
  TCC_CHECK(count > 0) << "a regret of no points";
  std::vector<double> seconds;
  for (const MeasuredPoint& point : task.points) seconds.push_back(point.seconds);
  if (seconds.empty()) return 0;
  std::ranges::sort(seconds);
  size_t points = seconds.size(), drawn = std::min(count, points);
  // The fastest of those drawn is the i-th point if it is drawn and none of the faster ones is:
  // C(points - 1 - i, drawn - 1) draws of C(points, drawn).
  double share = static_cast<double>(drawn) / static_cast<double>(points);
  double mean = 0;
  for (size_t i = 0; i + drawn <= points; ++i) {
    mean += share * seconds[i];
    double left = static_cast<double>(points - 1 - i);
    if (left > 0) share *= (left - static_cast<double>(drawn) + 1) / left;
  }
  return mean / seconds[0] - 1;
}

std::optional<double> StartRegret(const MeasuredTask& task) {
  for (const MeasuredPoint& point : task.points) {
    if (point.constructed) return point.seconds / task.BestSeconds() - 1;
  }
  return std::nullopt;
}

double SpearmanOf(const MeasuredTask& task, std::span<const double> predicted) {
  std::vector<double> seconds, values;
  for (size_t p : PrecisePoints(task)) {
    seconds.push_back(task.points[p].seconds);
    values.push_back(Comparable(predicted[p]));
  }
  return seconds.size() < 2 ? 0 : CorrelationOf(RanksOf(seconds), RanksOf(values));
}

std::optional<double> RankQuality::PairAccuracy() const {
  if (pairs.pairs == 0) return std::nullopt;
  return pairs.right / static_cast<double>(pairs.pairs);
}

RankQuality QualityOf(std::span<const MeasuredTask> tasks,
                      std::span<const std::vector<double>> predicted) {
  TCC_CHECK(tasks.size() == predicted.size()) << predicted.size();
  QualitySum sum;
  for (size_t t = 0; t < tasks.size(); ++t) {
    sum.Add(tasks[t], CountPairs(tasks[t], predicted[t], kPairsWithin),
            RegretOf(tasks[t], predicted[t], 1), RegretOf(tasks[t], predicted[t], kRegretOfSome),
            SpearmanOf(tasks[t], predicted[t]));
  }
  return sum.Mean();
}

RankQuality RandomQuality(std::span<const MeasuredTask> tasks) {
  QualitySum sum;
  for (const MeasuredTask& task : tasks) {
    std::vector<double> equal(task.points.size(), 0);
    sum.Add(task, CountPairs(task, equal, kPairsWithin), RandomRegret(task, 1),
            RandomRegret(task, kRegretOfSome), 0);
  }
  return sum.Mean();
}

std::optional<double> MeanStartRegret(std::span<const MeasuredTask> tasks) {
  double sum = 0, count = 0;
  for (const MeasuredTask& task : tasks) {
    std::optional<double> regret = StartRegret(task);
    if (!regret || task.points.size() < kMinPoints) continue;
    sum += *regret;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace tcc
