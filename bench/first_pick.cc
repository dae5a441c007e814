#include "bench/first_pick.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "autodiff_features/rank_quality.h"
#include "bench/search/median.h"
#include "compiler/kernels.h"
#include "compiler/make_backend.h"
#include "models/zoo/zoo.h"
#include "search/measure/local_measurer.h"
#include "search/measure/measuring_lock.h"
#include "search/space/task_space.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// Further points that take the place of one that cannot be built.
constexpr size_t kSpare = 8;

struct RankedPoint {
  double ln_seconds;
  SearchPoint point;
};
// Orders by predictions, NaN last, and equal ones by the points.
bool IsRankedBefore(const RankedPoint& a, const RankedPoint& b) {
  double of_a = Comparable(a.ln_seconds), of_b = Comparable(b.ln_seconds);
  return std::tie(of_a, a.point) < std::tie(of_b, b.point);
}

// The points with the least predicted times, best first.
struct Ranking {
  std::vector<RankedPoint> best;
  double ln_start = 0;  // predicted, of the first sketch's start
  double seconds = 0;   // that it took
  size_t points = 0;    // drawn
};

// Points of a sketch that the model looks at; the others the prior alone.
constexpr size_t kDrafted = 500;

// Leaves the points that the prior puts first.
void KeepDrafted(const SketchFormulas& formulas, std::vector<Point>& points) {
  std::vector<double> ln_seconds = formulas.LnSecondsAt(points);
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    double of_a = Comparable(ln_seconds[a]), of_b = Comparable(ln_seconds[b]);
    return std::tie(of_a, points[a]) < std::tie(of_b, points[b]);
  });
  order.resize(std::min(order.size(), kDrafted));
  std::vector<Point> kept;
  for (size_t p : order) kept.push_back(std::move(points[p]));
  points = std::move(kept);
}

StatusOr<Ranking> RankPoints(const Workload& workload, TaskSpace& space,
                             const FirstPickOptions& options) {
  Stopwatch stopwatch;
  Ranking ranking;
  Random random(1);
  CpuProfile profile = options.model ? options.model->profile : ProfileOf(options.target);
  RunSettings settings{.threads = options.threads, .cold_weights = true, .cold_activations = true};
  for (size_t s = 0; s < space.size(); ++s) {
    const SearchSpace* points = space.Points(s);
    if (!points) continue;
    const Sketch& sketch = space.sketch(s);
    SymbolicProgram program = ProgramOf(workload.variants[sketch.variant], options.target, sketch);
    TCC_ASSIGN_OR_RETURN(SketchFormulas formulas,
                         SketchFormulas::Create(program, options.target, profile, settings));
    std::vector<Point> drawn = points->Sample(options.points / space.size(), random);
    ranking.points += drawn.size();
    if (options.model) KeepDrafted(formulas, drawn);
    drawn.push_back(space.Start(s)->point);
    std::vector<double> ln_seconds = PredictAt(formulas, options.model, drawn);
    if (s == 0) ranking.ln_start = ln_seconds.back();
    for (size_t p = 0; p < drawn.size(); ++p) {
      ranking.best.push_back({ln_seconds[p], {s, drawn[p]}});
    }
    std::ranges::sort(ranking.best, IsRankedBefore);
    ranking.best.resize(std::min(ranking.best.size(), kSpare));
  }
  ranking.seconds = stopwatch.Seconds();
  return ranking;
}

struct PickReport {
  std::string kernel;
  double start_seconds = 0;
  double pick_seconds = 0;
  double predicted = 0;
  double predicted_start = 0;
  double rank_seconds = 0;
  std::string pick;  // the sketch and its sizes
  double ratio() const { return start_seconds / pick_seconds; }
};

std::string TextOf(const TaskSpace& space, const SearchPoint& point, const SearchSpace& points) {
  std::string text = space.sketch(point.sketch).name;
  for (const auto& [name, value] : points.ToDecisions(point.point)) {
    text += fmt::format(" {}={}", name, value);
  }
  return text;
}

// Medians over rounds in which the artefacts take turns; 0 for one that was not timed.
StatusOr<std::vector<double>> TimeInTurns(const Workload& workload,
                                          const std::vector<std::vector<uint8_t>>& artefacts,
                                          const FirstPickOptions& options) {
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Measurer> measurer,
                       MakeLocalMeasurer({.threads = options.threads}));
  TCC_RETURN_IF_ERROR(measurer->Open(workload, artefacts[0]).status());
  std::vector<std::vector<double>> seconds(artefacts.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t a = 0; a < artefacts.size(); ++a) {
      measurer->Submit({.id = a, .artefact = artefacts[a]});
      TCC_ASSIGN_OR_RETURN(std::optional<MeasureReport> report, measurer->Take());
      if (!report || report->measurement.status != MeasureStatus::kOk) continue;
      seconds[a].push_back(report->measurement.seconds);
    }
  }
  std::vector<double> medians;
  for (const std::vector<double>& times : seconds) {
    medians.push_back(times.empty() ? 0 : MedianOf(times));
  }
  return medians;
}

StatusOr<PickReport> ComparePick(const Workload& workload, Backend& backend,
                                 const FirstPickOptions& options) {
  TaskSpace space(workload, options.target);
  TCC_ASSIGN_OR_RETURN(Ranking ranking, RankPoints(workload, space, options));
  PickReport report;
  report.kernel = workload.name;
  report.rank_seconds = ranking.seconds;
  std::optional<SearchPoint> start = space.Start(0);
  if (!start || ranking.best.empty()) return report;
  std::vector<Candidate> candidates = {space.ToCandidate(*start)};
  for (const RankedPoint& ranked : ranking.best) {
    candidates.push_back(space.ToCandidate(ranked.point));
  }
  BuildOptions build{.target = options.target, .backend = &backend, .threads = options.threads};
  std::vector<BuiltCandidate> built = BuildCandidates(workload, candidates, build);
  size_t pick = 1;
  while (pick < built.size() && !built[pick].status.ok()) ++pick;
  if (!built[0].status.ok() || pick == built.size()) return report;
  const RankedPoint& picked = ranking.best[pick - 1];
  report.predicted = std::exp(picked.ln_seconds);
  report.predicted_start = std::exp(ranking.ln_start);
  report.pick = TextOf(space, picked.point, *space.Points(picked.point.sketch));
  TCC_ASSIGN_OR_RETURN(std::vector<double> seconds,
                       TimeInTurns(workload, {built[0].artefact, built[pick].artefact}, options));
  report.start_seconds = seconds[0];
  report.pick_seconds = seconds[1];
  return report;
}

nlohmann::json ToJson(const std::vector<PickReport>& reports, double mean) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PickReport& report : reports) {
    rows.push_back({{"kernel", report.kernel},
                    {"start_seconds", report.start_seconds},
                    {"pick_seconds", report.pick_seconds},
                    {"predicted_seconds", report.predicted},
                    {"predicted_start_seconds", report.predicted_start},
                    {"rank_seconds", report.rank_seconds},
                    {"pick", report.pick}});
  }
  return {{"tasks", rows}, {"geometric_mean", mean}};
}

}  // namespace

Status MeasureFirstPicks(const FirstPickOptions& options) {
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, MakeBackend(options.target));
  auto say = [](const std::string& message) { fmt::print(stderr, "tcc-bench: {}\n", message); };
  TCC_ASSIGN_OR_RETURN(MeasuringLock lock, MeasuringLock::Acquire({.say = say}));
  std::vector<PickReport> reports;
  double logs = 0, slower = 0;
  for (const std::string& network : options.networks) {
    TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo(network));
    TCC_ASSIGN_OR_RETURN(KernelSet set, KernelsOf(std::move(graph), {.target = options.target}));
    for (const KernelStages& kernel : set.kernels) {
      TCC_ASSIGN_OR_RETURN(PickReport report, ComparePick(WorkloadOf(kernel), *backend, options));
      if (report.start_seconds == 0 || report.pick_seconds == 0) {
        say(fmt::format("'{}' was not timed", report.kernel));
        continue;
      }
      report.kernel = network + " " + report.kernel;
      if (!options.json) {
        fmt::print(
            "{:<56} {:>9.1f} us start {:>9.1f} us pick {:>9.1f} predicted {:>6.2f}x "
            "ranked in {:.0f} ms: {}\n",
            report.kernel, 1e6 * report.start_seconds, 1e6 * report.pick_seconds,
            1e6 * report.predicted, report.ratio(), 1e3 * report.rank_seconds, report.pick);
        std::fflush(stdout);
      }
      logs += std::log(report.ratio());
      slower += report.ratio() < 1 / 1.05 ? 1 : 0;
      reports.push_back(std::move(report));
    }
  }
  double mean = std::exp(logs / static_cast<double>(std::max<size_t>(reports.size(), 1)));
  if (options.json) {
    fmt::print("{}\n", ToJson(reports, mean).dump(2));
  } else {
    fmt::print("{} tasks, {:.3f}x in geometric mean, {} slower by more than 5 %\n", reports.size(),
               mean, slower);
  }
  return OkStatus();
}

}  // namespace tcc
