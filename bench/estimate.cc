#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "autodiff_features/rank_quality.h"
#include "autodiff_features/task_formulas.h"
#include "bench/measured_file.h"
#include "bench/subcommand.h"
#include "bench/write_text.h"

namespace tcc {
namespace {

struct EstimateOptions {
  std::vector<std::string> records;
  std::string target = "native";
  std::string predict;
  double held_out = 1;
  bool by_task = false;
  bool json = false;
};

// Predictions of all tasks by one way of making them.
struct Predictions {
  std::string name;
  std::vector<std::vector<double>> ln_seconds;  // of each point of each task
};

Predictions PredictByPrior(const std::vector<MeasuredTask>& tasks, const Target& target) {
  Predictions predictions{"prior", {}};
  for (const MeasuredTask& task : tasks) {
    TaskFormulas formulas = TaskFormulas::Of(task, target, ProfileOf(target));
    for (const std::string& problem : formulas.problems()) {
      fmt::print(stderr, "tcc-bench: {}\n", problem);
    }
    predictions.ln_seconds.push_back(formulas.LnSeconds(task));
  }
  return predictions;
}

// A line a record: the predictions, or "-" for what has none.
std::string LinesOf(const std::vector<MeasuredTask>& tasks, size_t records,
                    const Predictions& prior) {
  std::vector<std::string> lines(records, "-");
  for (size_t t = 0; t < tasks.size(); ++t) {
    for (size_t p = 0; p < tasks[t].points.size(); ++p) {
      double value = prior.ln_seconds[t][p];
      if (!std::isnan(value)) lines[tasks[t].points[p].record] = fmt::format("{:.6f} -", value);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

nlohmann::json ToJson(const RankQuality& random,
                      const std::vector<std::pair<std::string, RankQuality>>& rows) {
  nlohmann::json json = {{"tasks", random.tasks},
                         {"points", random.points},
                         {"pairs", random.pairs.pairs}};
  auto add = [&](const std::string& name, const RankQuality& quality) {
    json["pair_accuracy"][name] = quality.PairAccuracy();
    json["regret_first"][name] = quality.regret_first;
    json["regret_16"][name] = quality.regret_16;
    json["spearman"][name] = quality.spearman;
  };
  for (const auto& [name, quality] : rows) add(name, quality);
  add("random", random);
  return json;
}

void PrintQuality(const std::string& name, const RankQuality& quality) {
  fmt::print("{:<10} {:>8} {:>8} {:>9} {:>10.3f} {:>10.1f} % {:>9.1f} % {:>9.3f}\n", name,
             quality.tasks, quality.points, quality.pairs.pairs, quality.PairAccuracy(),
             100 * quality.regret_first, 100 * quality.regret_16, quality.spearman);
}

void PrintTasks(const std::vector<MeasuredTask>& tasks, const Predictions& predictions) {
  fmt::print("{:<44} {:<18} {:>6} {:>6} {:>6} {:>8} {:>8} {:>10} {:>10}\n", "task", "policy",
             "points", "pairs", "right", "first", "of 16", "best us", "predicted");
  for (size_t t = 0; t < tasks.size(); ++t) {
    const MeasuredTask& task = tasks[t];
    const std::vector<double>& ln_seconds = predictions.ln_seconds[t];
    PairCount pairs = CountPairs(task, ln_seconds, kPairsWithin);
    auto best = std::min_element(
        task.points.begin(), task.points.end(),
        [](const MeasuredPoint& a, const MeasuredPoint& b) { return a.seconds < b.seconds; });
    double right = pairs.pairs > 0 ? pairs.right / static_cast<double>(pairs.pairs) : 0.5;
    fmt::print("{:<44} {:<18} {:>6} {:>6} {:>6.2f} {:>6.1f} % {:>6.1f} % {:>10.1f} {:>10.1f}\n",
               task.name.substr(0, 44), task.policy, task.points.size(), pairs.pairs, right,
               100 * RegretOf(task, ln_seconds, 1), 100 * RegretOf(task, ln_seconds, kRegretOfSome),
               1e6 * best->seconds,
               1e6 * std::exp(ln_seconds[static_cast<size_t>(best - task.points.begin())]));
  }
}

Status RunEstimate(const EstimateOptions& options) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(options.target));
  if (target.kind != TargetKind::kCpu) {
    return InvalidInput("--target {}: expected a CPU", options.target);
  }
  MeasuredTasks measured;
  for (const std::string& file : options.records) {
    TCC_RETURN_IF_ERROR(ReadMeasurements(file, measured));
  }
  size_t records = measured.records();
  std::vector<MeasuredTask> tasks = std::move(measured).Take();
  Predictions prior = PredictByPrior(tasks, target);
  if (!options.predict.empty()) {
    TCC_RETURN_IF_ERROR(WriteText(LinesOf(tasks, records, prior), options.predict));
  }
  std::vector<MeasuredTask> judged;
  Predictions of_judged{"prior", {}};
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (!IsHeldOut(tasks[t], options.held_out)) continue;
    judged.push_back(tasks[t]);
    of_judged.ln_seconds.push_back(prior.ln_seconds[t]);
  }
  RankQuality random = RandomQuality(judged);
  std::vector<std::pair<std::string, RankQuality>> rows = {
      {"prior", QualityOf(judged, of_judged.ln_seconds)}};
  if (options.json) {
    fmt::print("{}\n", ToJson(random, rows).dump(2));
    return OkStatus();
  }
  if (options.by_task) PrintTasks(judged, of_judged);
  fmt::print("{:<10} {:>8} {:>8} {:>9} {:>10} {:>12} {:>11} {:>9}\n", "", "tasks", "points",
             "pairs", "in order", "first pick", "best of 16", "Spearman");
  for (const auto& [name, quality] : rows) PrintQuality(name, quality);
  PrintQuality("random", random);
  return OkStatus();
}

}  // namespace

BenchAction DeclareEstimate(CLI::App& app) {
  auto options = std::make_shared<EstimateOptions>();
  app.add_option("--records", options->records,
                 "Measurements: JSON lines, or what tcc db export writes; also .xz and .zst")
      ->required();
  app.add_option("--target", options->target, "The CPU that they were measured on, of tcc targets")
      ->capture_default_str();
  app.add_option("--predict", options->predict,
                 "File for a line a record: ln seconds by the prior and by a model, - for none");
  app.add_option("--held-out", options->held_out,
                 "Judge the share of tasks that training holds back; 1: all")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--by-task", options->by_task, "A line a task");
  app.add_flag("--json", options->json, "Write JSON");
  return [options] { return RunEstimate(*options); };
}

}  // namespace tcc
