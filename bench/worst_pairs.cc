#include "bench/worst_pairs.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <tuple>
#include <utility>

#include "autodiff_features/rank_quality.h"
#include "autodiff_features/task_formulas.h"

namespace tcc {
namespace {

constexpr size_t kMaxOfTask = 2;
constexpr size_t kMaxRows = 12;
constexpr size_t kMaxSteps = 8;  // of one sketch
constexpr double kMinDifference = 0.01;

// Two points of a task, named by their measured times.
struct WrongPair {
  double error = 0;  // |ln of the predictions' ratio| + |ln of the times' ratio|
  size_t task = 0;
  size_t faster = 0;
  size_t slower = 0;
};

bool IsWorse(const WrongPair& a, const WrongPair& b) {
  return std::tuple(-a.error, a.task, a.faster, a.slower) <
         std::tuple(-b.error, b.task, b.faster, b.slower);
}

// Returns the worst pairs of one task, sorted.
std::vector<WrongPair> WorstOf(const MeasuredTask& task, size_t place,
                               const std::vector<double>& ln_seconds) {
  std::vector<WrongPair> worst;
  ForEachJudgedPair(task, kPairsWithin, [&](size_t a, size_t b) {
    if (task.points[a].seconds > task.points[b].seconds) std::swap(a, b);
    double predicted = ln_seconds[a] - ln_seconds[b];
    if (!(predicted > 0)) return;
    double measured = std::log(task.points[b].seconds / task.points[a].seconds);
    WrongPair pair{predicted + measured, place, a, b};
    if (worst.size() == kMaxOfTask && !IsWorse(pair, worst.back())) return;
    worst.insert(std::ranges::upper_bound(worst, pair, IsWorse), pair);
    worst.resize(std::min(worst.size(), kMaxOfTask));
  });
  return worst;
}

std::vector<WrongPair> WorstPairs(std::span<const MeasuredTask> tasks,
                                  const TaskPredictions& predicted, size_t count) {
  std::vector<WrongPair> worst;
  for (size_t t = 0; t < tasks.size(); ++t) {
    std::vector<WrongPair> of_task = WorstOf(tasks[t], t, predicted[t]);
    worst.insert(worst.end(), of_task.begin(), of_task.end());
  }
  std::ranges::sort(worst, IsWorse);
  worst.resize(std::min(worst.size(), count));
  return worst;
}

// --- text

// The features of one of the points, with the names of their nests.
struct NamedFeatures {
  std::string name;
  const std::vector<std::string>& nests;
  const KernelFeatures& features;

  double At(size_t nest, size_t row) const { return features.rows[nest * kFeatures + row]; }
};

// Places of a nest of the faster and of the slower point that are compared.
using NestPair = std::pair<size_t, size_t>;

// Nests of equal names are compared; then the others, in the order of the seconds that the prior
// gives them: sketches of two variants may have no name in common.
std::vector<NestPair> PairNests(const NamedFeatures& faster, const NamedFeatures& slower) {
  constexpr auto kSeconds = static_cast<size_t>(Feature::kSeconds);
  auto unmatched = [](const NamedFeatures& one, const NamedFeatures& other) {
    std::vector<size_t> nests;
    for (size_t n = 0; n < one.nests.size(); ++n) {
      if (std::ranges::count(other.nests, one.nests[n]) == 0) nests.push_back(n);
    }
    std::ranges::stable_sort(nests, std::greater(),
                             [&](size_t n) { return Comparable(one.At(n, kSeconds)); });
    return nests;
  };
  std::vector<NestPair> pairs;
  for (size_t n = 0; n < faster.nests.size(); ++n) {
    auto same = std::ranges::find(slower.nests, faster.nests[n]);
    if (same == slower.nests.end()) continue;
    pairs.emplace_back(n, static_cast<size_t>(same - slower.nests.begin()));
  }
  std::vector<size_t> of_faster = unmatched(faster, slower), of_slower = unmatched(slower, faster);
  for (size_t i = 0; i < std::min(of_faster.size(), of_slower.size()); ++i) {
    pairs.emplace_back(of_faster[i], of_slower[i]);
  }
  return pairs;
}

struct RowDifference {
  double relative = 0;
  std::string line;
};

// Divides the difference by the larger value; infinite where one is no number.
double RelativeDifference(double a, double b) {
  return a == b ? 0 : Comparable(std::abs(a - b) / std::max(std::abs(a), std::abs(b)));
}

// Lists the rows that differ, the most different first.
std::string RowsOf(const NamedFeatures& faster, const NamedFeatures& slower) {
  std::vector<RowDifference> rows;
  for (const auto& [a, b] : PairNests(faster, slower)) {
    std::string nest = faster.nests[a];
    if (slower.nests[b] != nest) nest += "/" + slower.nests[b];
    for (size_t f = 0; f < kFeatures; ++f) {
      double of_faster = faster.At(a, f), of_slower = slower.At(b, f);
      double relative = RelativeDifference(of_faster, of_slower);
      if (relative <= kMinDifference) continue;
      const FeatureRow& row = FeatureRows()[f];
      rows.push_back({relative, fmt::format("  {:<28} {:>12.5g} {:>12.5g}  {}\n",
                                            fmt::format("{} {}", nest, row.name), of_faster,
                                            of_slower, row.unit)});
    }
  }
  std::ranges::stable_sort(rows, std::greater(), &RowDifference::relative);
  std::string text = fmt::format("  {:<28} {:>12} {:>12}  {} rows differ\n", "nest and row",
                                 faster.name, slower.name, rows.size());
  for (size_t r = 0; r < std::min(rows.size(), kMaxRows); ++r) text += rows[r].line;
  return text;
}

std::string PointText(const std::string& name, const MeasuredPoint& point, double ln_seconds) {
  std::vector<std::string> sizes;
  for (const auto& [size, value] : point.set) sizes.push_back(fmt::format("{}={}", size, value));
  return fmt::format("  {:<28} {:>12.3f} {:>12.3f}  sketch {}: {}\n", name, 1e6 * point.seconds,
                     1e6 * std::exp(ln_seconds), point.sketch, fmt::join(sizes, " "));
}

std::vector<std::string> StepsOf(const std::string& trace) {
  std::vector<std::string> steps;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) steps.push_back(line);
  return steps;
}

// Lists the first steps of a sketch that another one lacks, without the ranges of sizes.
std::string OwnSteps(const std::string& name, const MeasuredSketch& sketch,
                     const MeasuredSketch& other) {
  std::vector<std::string> steps = StepsOf(sketch.trace), others = StepsOf(other.trace);
  std::erase_if(steps, [&](const std::string& step) {
    return step.starts_with("tile ") || std::ranges::count(others, step) > 0;
  });
  std::string text;
  for (size_t s = 0; s < std::min(steps.size(), kMaxSteps); ++s) {
    text += fmt::format("  only the {}: {}\n", name, steps[s]);
  }
  if (steps.size() > kMaxSteps) {
    text += fmt::format("  only the {}: {} more steps\n", name, steps.size() - kMaxSteps);
  }
  return text;
}

std::string Describe(const WrongPair& pair, const MeasuredFeatures& measured,
                     const std::vector<double>& ln_seconds, const TaskFormulas& formulas) {
  const MeasuredTask& task = measured.tasks[pair.task];
  const std::vector<KernelFeatures>& features = measured.features[pair.task];
  const MeasuredPoint &faster = task.points[pair.faster], &slower = task.points[pair.slower];
  const MeasuredSketch &of_faster = task.sketches[faster.sketch],
                       &of_slower = task.sketches[slower.sketch];
  std::string text =
      fmt::format("{}, {}, {} threads, {} sketches, {} points\n", task.name, task.policy,
                  task.settings.threads, task.sketches.size(), task.points.size());
  text += fmt::format("  {:<28} {:>12} {:>12}\n", "", "measured us", "predicted us");
  text += PointText("faster", faster, ln_seconds[pair.faster]);
  text += PointText("slower", slower, ln_seconds[pair.slower]);
  text += OwnSteps("faster", of_faster, of_slower) + OwnSteps("slower", of_slower, of_faster);
  text += RowsOf({"faster", formulas.sketch(faster.sketch)->nests(), features[pair.faster]},
                 {"slower", formulas.sketch(slower.sketch)->nests(), features[pair.slower]});
  return text + "\n";
}

}  // namespace

std::string DescribeWorstPairs(const MeasuredFeatures& measured, const TaskPredictions& predicted,
                               size_t count, const Target& target, const CpuProfile& profile) {
  std::string text;
  for (const WrongPair& pair : WorstPairs(measured.tasks, predicted, count)) {
    // Made again for the names of nests, which measured features do not keep.
    TaskFormulas formulas = TaskFormulas::Of(measured.tasks[pair.task], target, profile);
    text += Describe(pair, measured, predicted[pair.task], formulas);
  }
  return text;
}

}  // namespace tcc
