#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/compile/run_tuning.h"
#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/readable_units.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "search/tuning/task_tuner.h"

namespace tcc {
namespace {

struct TuneCommand {
  ModelOptions model;
  TuningOptions tuning;
  std::string target = "native";
  std::string numeric;
  bool no_winograd = false;
  std::string progress = "auto";
  int threads = 0;
};

// How many times as fast what won in the network is as the constructed schedule.
std::string InPlace(const TaskResult& task) {
  return task.in_place_ratio > 0 ? fmt::format("{:.2f}x", 1 / task.in_place_ratio) : "-";
}

std::vector<std::string> RowOf(const TaskResult& task) {
  bool measured = task.constructed_seconds > 0 && task.best_seconds > 0;
  return {fmt::format("{}", task.runs),
          ReadableMicroseconds(task.constructed_seconds),
          ReadableMicroseconds(task.best_seconds),
          measured ? fmt::format("{:.2f}x", task.constructed_seconds / task.best_seconds) : "-",
          InPlace(task),
          std::to_string(task.trials),
          task.best_searcher.empty() ? "-" : task.best_searcher,
          task.problem.empty() ? task.name : task.name + " (" + task.problem + ")"};
}

void PrintResult(const TuneResult& result) {
  std::vector<std::vector<std::string>> rows = {
      {"runs", "constructed us", "best us", "gain", "in place", "trials", "by", "kernel"}};
  double constructed = 0, best = 0;
  for (const TaskResult& task : result.tasks) {
    if (task.constructed_seconds > 0 && task.best_seconds > 0) {
      constructed += task.runs * task.constructed_seconds;
      best += task.runs * task.best_seconds;
    }
    rows.push_back(RowOf(task));
  }
  fmt::print("{}", TextTable(rows, ""));
  fmt::print("sum of runs: constructed {} us, best {} us, {:.2f}x\n",
             ReadableMicroseconds(constructed), ReadableMicroseconds(best),
             best > 0 ? constructed / best : 1);
  if (result.network_best_seconds > 0) {
    fmt::print("in the network: constructed {} us, best {} us, {:.2f}x\n",
               ReadableMicroseconds(result.network_constructed_seconds),
               ReadableMicroseconds(result.network_best_seconds),
               result.network_constructed_seconds / result.network_best_seconds);
  }
  std::string statuses;
  for (const auto& [status, count] : result.statuses) {
    statuses += fmt::format("{}{} {}", statuses.empty() ? "" : ", ", count, NameOf(status));
  }
  fmt::print("{} trials: {}\n", result.trials, statuses.empty() ? "none" : statuses);
  if (auto settled = std::ranges::count(result.tasks, true, &TaskResult::settled)) {
    fmt::print(
        "settled before the budget ended: {} of {} kernels, whose last {} candidates gained "
        "less than 1 % together\n",
        settled, result.tasks.size(), kSettledTrials);
  }
  const TunePhases& phases = result.phases;
  fmt::print(
      "seconds: {:.1f} to begin, {:.1f} proposing, {:.1f} building, {:.1f} checking, "
      "{:.1f} in the network, {:.1f} comparing\n",
      phases.begin, phases.propose, phases.build, phases.check, phases.network, phases.compare);
}

Status RunTune(const TuneCommand& command) {
  if (command.tuning.database.empty()) {
    return UsageError("--db: expected the file that measurements are kept in");
  }
  if (!command.tuning.HasBudget()) {
    return UsageError("expected a budget: --trials or --time-budget");
  }
  TuneGraphOptions options;
  TCC_ASSIGN_OR_RETURN(options.compile.target, FindTarget(command.target));
  TCC_ASSIGN_OR_RETURN(options.compile.numeric, FindNumericMode(command.numeric));
  options.compile.winograd = !command.no_winograd;
  TCC_RETURN_IF_ERROR(SetTuning(command.tuning, options));
  options.threads = ThreadCount(command.threads);
  options.compile.threads = ThreadCount(0);
  Progress progress(command.progress);
  options.compile.warn = [&](const std::string& message) { progress.Warn(message); };
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportModel(command.model, options.compile.warn));
  TCC_ASSIGN_OR_RETURN(Database database,
                       Database::Open(command.tuning.database, Database::Access::kReadWrite));
  DatabaseWarnings warnings(database, progress);
  TCC_ASSIGN_OR_RETURN(TuneResult result,
                       RunTuning(graph, options, command.tuning, progress, database));
  warnings.Tell();
  PrintResult(result);
  return OkStatus();
}

}  // namespace

Action DeclareTune(CommandLine& line) {
  auto command = std::make_shared<TuneCommand>();
  AddModelOptions(line, command->model);
  AddTargetOption(line, command->target).ShowDefault();
  AddTuningOptions(line, command->tuning);
  AddNumericOption(line, command->numeric);
  AddWinogradOption(line, command->no_winograd);
  AddThreadsOption(line, command->threads);
  AddProgressOption(line, command->progress);
  return [command] { return RunTune(*command); };
}

}  // namespace tcc
