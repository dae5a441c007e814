#include <fmt/core.h>
#include <algorithm>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "autodiff_features/learned/model_file.h"
#include "autodiff_features/measured_features.h"
#include "bench/subcommand.h"
#include "bench/write_text.h"
#include "cli/cost_model/measured_file.h"
#include "cli/cost_model/quality_report.h"
#include "cli/cost_model/records_target.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

struct EstimateOptions {
  std::vector<std::string> records;
  std::string target;  // "": the one of the records, or native
  std::string model;
  std::string predict;
  double held_out = 1;
  bool by_task = false;
  bool json = false;
};

// A line a record: the predictions, or "-" for what has none.
std::string LinesOf(const std::vector<MeasuredTask>& tasks, size_t records,
                    const TaskPredictions& prior, const std::optional<TaskPredictions>& model) {
  std::vector<std::string> lines(records, "-");
  for (size_t t = 0; t < tasks.size(); ++t) {
    for (size_t p = 0; p < tasks[t].points.size(); ++p) {
      if (std::isnan(prior[t][p])) continue;
      std::string by_model = model ? fmt::format("{:.6f}", (*model)[t][p]) : "-";
      lines[tasks[t].points[p].record] = fmt::format("{:.6f} {}", prior[t][p], by_model);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void TellPace(const TaskPredictions& predictions, double seconds) {
  size_t points = 0;
  for (const std::vector<double>& of_task : predictions) points += of_task.size();
  fmt::print(stderr, "tcc-bench: the model takes {:.2f} us a point beside its features\n",
             1e6 * seconds / static_cast<double>(std::max<size_t>(points, 1)));
}

void PrintTasks(const std::vector<MeasuredTask>& tasks, const TaskPredictions& predictions) {
  fmt::print("{:<44} {:<18} {:>6} {:>6} {:>6} {:>8} {:>8} {:>10} {:>10}\n", "task", "policy",
             "points", "pairs", "right", "first", "of 16", "best us", "predicted");
  for (size_t t = 0; t < tasks.size(); ++t) {
    const MeasuredTask& task = tasks[t];
    const std::vector<double>& ln_seconds = predictions[t];
    PairCount pairs = CountPairs(task, ln_seconds, kPairsWithin);
    auto best = std::ranges::min_element(
        task.points,
        [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.seconds < b.seconds; });
    std::string right = "-";
    if (pairs.pairs > 0) {
      right = fmt::format("{:.2f}", pairs.right / static_cast<double>(pairs.pairs));
    }
    fmt::print("{:<44} {:<18} {:>6} {:>6} {:>6} {:>6.1f} % {:>6.1f} % {:>10.1f} {:>10.1f}\n",
               task.name.substr(0, 44), task.policy, task.points.size(), pairs.pairs, right,
               100 * RegretOf(task, ln_seconds, 1), 100 * RegretOf(task, ln_seconds, kRegretOfSome),
               1e6 * best->seconds,
               1e6 * std::exp(ln_seconds[static_cast<size_t>(best - task.points.begin())]));
  }
}

Status RankRecords(const EstimateOptions& options, const std::optional<LearnedModel>& learned) {
  if (options.records.empty()) return UsageError("expected --records");
  MeasuredTasks measured;
  for (const std::string& file : options.records) {
    TCC_RETURN_IF_ERROR(ReadMeasurements(file, measured));
  }
  size_t records = measured.records();
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  auto warn = [](const std::string& message) {
    fmt::print(stderr, "tcc-bench: warning: {}\n", message);
  };
  TCC_ASSIGN_OR_RETURN(Target target, TargetOfRecords(tasks, options.target, warn));
  if (learned) TCC_RETURN_IF_ERROR(ExpectModelFor(target, *learned, options.model));
  DeviceProfile profile = learned ? learned->profile : DeviceProfileOf(target);
  MeasuredFeatures all = FeaturesOf(std::move(tasks), target, profile);
  for (const std::string& problem : all.problems) fmt::print(stderr, "tcc-bench: {}\n", problem);
  TCC_RETURN_IF_ERROR(ExpectSomeReplay(all));
  if (!options.predict.empty()) {
    std::optional<TaskPredictions> by_model;
    if (learned) by_model = all.ByModel(*learned);
    std::string lines = LinesOf(all.tasks, records, all.ByPrior(), by_model);
    TCC_RETURN_IF_ERROR(WriteText(lines, options.predict));
  }
  MeasuredFeatures judged =
      all.Of([&](const MeasuredTask& task) { return IsHeldOut(task, options.held_out); });
  QualityReport report(judged.tasks);
  TaskPredictions predictions = judged.ByPrior();
  report.Add("prior", predictions);
  if (learned) {
    Stopwatch stopwatch;
    predictions = judged.ByModel(*learned);
    TellPace(predictions, stopwatch.Seconds());
    report.Add("model", predictions);
  }
  report.Add(options.json ? "again" : "measured again", MeasuredAgain(judged.tasks, 1));
  if (options.json) {
    fmt::print("{}\n", report.ToJson().dump(2));
    return OkStatus();
  }
  if (options.by_task) PrintTasks(judged.tasks, predictions);
  fmt::print("{}", report.ToText());
  return OkStatus();
}

Status RunEstimate(const EstimateOptions& options) {
  std::optional<LearnedModel> learned;
  if (!options.model.empty()) {
    TCC_ASSIGN_OR_RETURN(learned, ReadModel(options.model));
  }
  if (options.json && options.by_task) return UsageError("--by-task: expected without --json");
  return RankRecords(options, learned);
}

}  // namespace

BenchAction DeclareEstimate(CLI::App& app) {
  auto options = std::make_shared<EstimateOptions>();
  app.add_option("--records", options->records,
                 "Measurements: JSON lines, or what tcc db export writes; also .xz and .zst");
  app.add_option("--target", options->target,
                 "The CPU or GPU that they were measured on; default: the CPU of the records");
  app.add_option("--model", options->model, "Cost model of tcc cost-model train to judge as well");
  app.add_option("--predict", options->predict,
                 "File for a line a record: ln seconds by the prior and by a model, - for none");
  app.add_option("--held-out", options->held_out,
                 "Judge the share of tasks that training holds back; 1: all")
      ->check(RefuseNan)
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--by-task", options->by_task, "A line a task");
  app.add_flag("--json", options->json, "Write JSON");
  return [options] { return RunEstimate(*options); };
}

}  // namespace tcc
