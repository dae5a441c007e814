#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/compile/run_tuning.h"
#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/readable_units.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "compiler/devices/foreign_cpu_device.h"
#include "compiler/emit_candidates.h"
#include "search/tuning/task_tuner.h"

namespace tcc {
namespace {

struct TuneCommand {
  ModelOptions model;
  std::vector<std::string> sizes;
  TuningOptions tuning;
  std::string target = "native";
  std::string numeric;
  bool no_winograd = false;
  ProgressOptions progress;
  int threads = 0;
  std::string fleet;  // URL of its database; "": candidates are measured by one worker
  std::string emit;   // batch to write; "": candidates are measured here
  double mix = EmitCandidatesOptions().random_share;
  bool text = false;
  bool emulate = false;
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

// Refuses options that say how to measure, or go on measuring, where nothing is measured.
Status ExpectEmission(const TuneCommand& command) {
  const TuningOptions& tuning = command.tuning;
  const TuningOptions plain;
  const std::pair<const char*, bool> given[] = {
      {"--time-budget", !tuning.time_budget.empty()},
      {"--run", !tuning.run.empty()},
      {"--searcher", tuning.searcher != plain.searcher},
      {"--cost-model", !tuning.cost_model.empty()},
      {"--worker", !tuning.worker.empty()},
      {"--fleet", !command.fleet.empty()},
      {"--emulate", command.emulate},
  };
  if (!command.sizes.empty()) {
    return UsageError("--at: --emit writes candidates for one size; expected --dim");
  }
  for (const auto& [option, is_given] : given) {
    if (is_given) return UsageError("{}: --emit measures nothing; it takes --trials", option);
  }
  if (tuning.trials == 0) return UsageError("--emit: expected --trials, the number of candidates");
  if (!tuning.device.empty() && tuning.database.empty()) {
    return UsageError("--device: expected --db with records of the device");
  }
  if (command.mix >= 0 && command.mix <= 1) return OkStatus();
  return UsageError("--mix {}: expected 0 to 1", command.mix);
}

Status RunEmission(const TuneCommand& command) {
  TCC_RETURN_IF_ERROR(ExpectEmission(command));
  EmitCandidatesOptions options{.compile = {},
                                .candidates = command.tuning.trials,
                                .random_share = command.mix,
                                .seed = command.tuning.seed,
                                .device = command.tuning.device};
  TCC_ASSIGN_OR_RETURN(options.policy, PolicyOf(command.tuning));
  Progress progress(command.progress);
  CompileOptions& compile = options.compile;
  TCC_ASSIGN_OR_RETURN(compile.target, FindTarget(command.target));
  TCC_ASSIGN_OR_RETURN(compile.numeric, FindNumericMode(command.numeric));
  compile.winograd = !command.no_winograd;
  compile.threads = ThreadCount(command.threads);
  compile.progress = progress.hook();
  compile.gpu_code = command.text ? GpuCode::kCudaText : GpuCode::kCubin;
  compile.warn = [&](const std::string& message) { progress.Warn(message); };
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportModel(command.model, compile.warn));
  std::optional<Database> database;
  if (!command.tuning.database.empty()) {
    TCC_ASSIGN_OR_RETURN(database,
                         Database::Open(command.tuning.database, Database::Access::kReadWrite));
  }
  TCC_ASSIGN_OR_RETURN(
      EmittedCounts counts,
      EmitCandidates(std::move(graph), options, database ? &*database : nullptr, command.emit));
  if (database) DatabaseWarnings(*database, progress);
  fmt::print("{}: {} candidates of {} kernels\n", command.emit, counts.candidates, counts.tasks);
  return OkStatus();
}

// Lets the workers of the fleet measure, on the device that --device describes.
Status JoinFleet(const TuneCommand& command, TuneGraphOptions& options) {
  if (!command.tuning.worker.empty()) return UsageError("--fleet: expected no --worker");
  if (command.threads != 0) {
    return UsageError("--threads: the workers of a fleet have their own");
  }
  TCC_ASSIGN_OR_RETURN(options.fleet,
                       FindFleetDevice({.url = command.fleet, .warn = options.compile.warn},
                                       options.compile.target, command.tuning.device));
  options.threads = static_cast<int>(options.fleet->ready.threads);
  return OkStatus();
}

// Lets a worker for another CPU measure, under a qemu that counts instructions.
Status Emulate(const TuneCommand& command, TuneGraphOptions& options) {
  const Target& target = options.compile.target;
  TCC_RETURN_IF_ERROR(CountedCore(target).status());
  if (!command.tuning.worker.empty() || !command.fleet.empty()) {
    return UsageError("--emulate: expected no {}", command.fleet.empty() ? "--worker" : "--fleet");
  }
  if (command.threads > 1) {
    return UsageError("--threads {}: --emulate counts on one thread", command.threads);
  }
  TCC_ASSIGN_OR_RETURN(std::string worker, FindCountingWorker(target.arch));
  options.worker_command = worker + " --stdio";
  options.threads = 1;
  return OkStatus();
}

Status RunTune(const TuneCommand& command) {
  if (!command.emit.empty()) return RunEmission(command);
  if (command.text || command.mix != EmitCandidatesOptions().random_share) {
    return UsageError("{}: expected --emit", command.text ? "--text" : "--mix");
  }
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
  TuningOptions tuning = command.tuning;
  if (!command.fleet.empty()) tuning.device.clear();  // JoinFleet's
  TCC_RETURN_IF_ERROR(SetTuning(tuning, options));
  options.threads = ThreadCount(command.threads);
  options.compile.threads = ThreadCount(0);
  if (command.emulate) TCC_RETURN_IF_ERROR(Emulate(command, options));
  Progress progress(command.progress);
  options.compile.warn = [&](const std::string& message) { progress.Warn(message); };
  if (!command.fleet.empty()) TCC_RETURN_IF_ERROR(JoinFleet(command, options));
  TCC_ASSIGN_OR_RETURN(std::vector<DimSizes> sizes, ParseSizes(command.sizes));
  TCC_ASSIGN_OR_RETURN(SizedModel model, ImportModelAt(command.model, sizes, options.compile.warn));
  TCC_ASSIGN_OR_RETURN(Database database,
                       Database::Open(command.tuning.database, Database::Access::kReadWrite));
  DatabaseWarnings warnings(database, progress);
  TCC_ASSIGN_OR_RETURN(std::vector<TunedSize> results,
                       RunTuning(model, options, command.tuning, progress, database));
  warnings.Tell();
  for (const TunedSize& tuned : results) {
    if (model.graphs.size() > 1) fmt::print("{}:\n", tuned.size);
    PrintResult(tuned.result);
  }
  return OkStatus();
}

}  // namespace

Action DeclareTune(CommandLine& line) {
  auto command = std::make_shared<TuneCommand>();
  AddModelOptions(line, command->model);
  line.AddOption("--at", command->sizes, "A size to tune for; several share the budget equally")
      .TypeName("N=1|B=1,S=16");
  AddTargetOption(line, command->target).ShowDefault();
  AddTuningOptions(line, command->tuning);
  line.AddOption("--fleet", command->fleet,
                 "Database in which workers on other machines take candidates: "
                 "postgresql://USER@HOST/DATABASE")
      .TypeName("URL");
  line.AddOption("--emit", command->emit,
                 "Batch to write: candidates for tcc-worker --batch on another machine")
      .TypeName("BATCH");
  line.AddOption("--mix", command->mix, "With --emit: the share of candidates drawn at random")
      .TypeName("SHARE")
      .ShowDefault();
  line.AddFlag("--text", command->text, "With --emit: CUDA text, for the emulated driver");
  line.AddFlag("--emulate", command->emulate,
               "Count another CPU's instructions by qemu, in place of time");
  AddNumericOption(line, command->numeric);
  AddWinogradOption(line, command->no_winograd);
  AddThreadsOption(line, command->threads);
  AddProgressOptions(line, command->progress);
  return [command] { return RunTune(*command); };
}

}  // namespace tcc
