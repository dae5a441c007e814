#include "cli/compile/run_tuning.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/compile/run_folder.h"
#include "cli/stop_on_signal.h"
#include "runtime/artefact/artefact_device.h"
#include "search/searchers/searcher.h"
#include "support/option_values.h"
#include "support/stopwatch.h"
#include "support/target_api.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> SearcherNames() {
  std::vector<std::string> names = {std::string(kAutoSearcher)};
  for (const SearcherRow& row : Searchers()) names.emplace_back(row.name);
  return names;
}

// Refuses options that say how to measure where nothing is measured.
Status ExpectNoSearch(const TuningOptions& options) {
  const TuningOptions plain;
  const std::pair<const char*, bool> given[] = {
      {"--run", options.run != plain.run},
      {"--searcher", options.searcher != plain.searcher},
      {"--cost-model", options.cost_model != plain.cost_model},
      {"--policy", options.policy != plain.policy},
      {"--worker", options.worker != plain.worker},
      {"--seed", options.seed != plain.seed},
  };
  for (const auto& [option, is_given] : given) {
    if (is_given) return UsageError("{}: expected a budget: --trials or --time-budget", option);
  }
  return OkStatus();
}

// Whether the trial made its kernel faster than its constructed schedule and all trials before.
bool IsGain(const TuneEvent& event) {
  return event.measurement.status == MeasureStatus::kOk &&
         event.measurement.seconds <= event.best_seconds &&
         event.best_seconds < event.constructed_seconds;
}

void Advance(SearchState& state, const TuneEvent& event) {
  state.trials = event.trials;
  state.seconds = event.seconds;
  if (!IsGain(event)) return;
  state.improved = event.task;
  state.gain = event.constructed_seconds / event.best_seconds;
}

// Adds warnings to the events of the folder.
void RecordWarnings(RunFolder& folder, CompileOptions& options) {
  options.warn = [&folder, warn = options.warn](const std::string& message) {
    if (warn) warn(message);
    folder.RecordWarning(message);
  };
}

// Tunes one graph. `run` is the folder for the run; "": none.
StatusOr<TuneResult> TuneOne(const Graph& graph, TuneGraphOptions options, const std::string& run,
                             const std::string& database_path, Progress& progress,
                             Database& database) {
  std::optional<RunFolder> folder;
  if (!run.empty()) {
    TCC_ASSIGN_OR_RETURN(folder, RunFolder::Make(run, options, database_path));
    options.worker_log = folder->worker_log();
    RecordWarnings(*folder, options.compile);
  }
  SearchState state{.most_trials = options.tune.trials, .most_seconds = options.tune.seconds};
  if (folder) {
    options.begin = [&](const Environment& environment) { folder->RecordEnvironment(environment); };
  }
  options.tune.event = [&](const TuneEvent& event) {
    Advance(state, event);
    progress.ReportSearch(state);
    if (folder) folder->Record(event);
  };
  progress.Begin("tuning");
  StatusOr<TuneResult> result = TuneGraph(graph, options, database);
  progress.EndSearch();
  if (result.ok() && result->known > 0) {
    progress.TellDetail(
        fmt::format("{} candidates were in the database and not measured again", result->known));
  }
  if (folder) {
    Status written = folder->Finish(result, options.compile.stop.stop_requested());
    if (!written.ok()) progress.Warn(Message(written));
  }
  if (absl::IsUnavailable(result.status()) && IsCuda(options.compile.target)) {
    return Missing("{}; `tcc tune --emit FILE` writes candidates to measure on another machine",
                   Message(result.status()));
  }
  if (result.ok()) TCC_RETURN_IF_ERROR(ExpectSomeKernel(*result, options.compile.stop));
  return result;
}

// Returns the share of the next of `sizes` sizes in what is left of a budget.
TuneOptions ShareOf(TuneOptions budget, int64_t spent_trials, double spent_seconds, size_t sizes) {
  constexpr double kMinSeconds = 1e-3;
  const auto count = static_cast<int64_t>(sizes);
  if (budget.trials > 0) {
    budget.trials = std::max<int64_t>((budget.trials - spent_trials) / count, 1);
  } else {
    budget.seconds =
        std::max((budget.seconds - spent_seconds) / static_cast<double>(count), kMinSeconds);
  }
  return budget;
}

}  // namespace

void AddTuningOptions(CommandLine& line, TuningOptions& options) {
  line.AddOption("--db", options.database, "Database of measurements").TypeName("FILE");
  line.AddOption("--time-budget", options.time_budget, "Time to measure for: 90s, 5m, 1h")
      .TypeName("TIME");
  line.AddOption("--trials", options.trials, "Candidates to measure, over all kernels")
      .TypeName("N")
      .InRange(1, std::numeric_limits<int>::max());
  line.AddOption("--searcher", options.searcher, "What chooses the candidates")
      .TypeName(fmt::format("{}", fmt::join(SearcherNames(), "|")))
      .ShowDefault();
  line.AddOption("--cost-model", options.cost_model,
                 "Cost model that candidates are expected by; without: formulas alone")
      .TypeName("FILE");
  line.AddOption("--policy", options.policy, "Where candidates are timed")
      .TypeName(fmt::format("{}", fmt::join(Policies(), "|")))
      .ShowDefault();
  line.AddOption("--device", options.device,
                 "GPU to measure on, " + GpuNumberExamples() +
                     "; without a budget a part of the name of the device whose records are taken")
      .TypeName("TEXT");
  line.AddOption("--worker", options.worker,
                 "Command of sh that runs `tcc-worker --stdio` on the machine to measure on; "
                 "without: TCC_WORKER_COMMAND, else this machine")
      .TypeName("COMMAND");
  line.AddOption("--seed", options.seed, "Seed of what is random").ShowDefault().TypeName("S");
  line.AddOption("--run", options.run,
                 "Folder to make for run.json, events.jsonl and worker.log of the run")
      .TypeName("DIR");
}

std::string GpuNumberExamples() {
  return fmt::format("{}:0", fmt::join(kGpuDevices, ":0 or "));
}

StatusOr<GpuNumber> GpuNumberOf(const std::string& device) {
  const size_t colon = std::min(device.find(':'), device.size());
  GpuNumber gpu{.device = device.substr(0, colon)};
  const char* const end = device.data() + device.size();
  if (IsGpuDevice(gpu.device) && colon < device.size()) {
    auto [last, error] = std::from_chars(device.data() + colon + 1, end, gpu.ordinal);
    if (error == std::errc() && last == end && gpu.ordinal >= 0) return gpu;
  }
  return UsageError("--device {}: expected the GPU to measure on as {}", device,
                    GpuNumberExamples());
}

Status SetTuning(const TuningOptions& options, TuneGraphOptions& graph) {
  TuneOptions& tune = graph.tune;
  if (options.trials > 0 && !options.time_budget.empty()) {
    return UsageError("--trials and --time-budget: expected one of them");
  }
  tune.trials = options.trials;
  if (!options.time_budget.empty()) {
    TCC_ASSIGN_OR_RETURN(tune.seconds, ParseSeconds("--time-budget", options.time_budget));
  }
  tune.searcher = options.searcher;
  if (SearchersNamed(tune.searcher).empty()) {
    return UsageError("--searcher {}: this version has {}", options.searcher,
                      fmt::join(SearcherNames(), ", "));
  }
  if (!options.cost_model.empty()) {
    TCC_ASSIGN_OR_RETURN(tune.model,
                         ReadCostModel(options.cost_model, graph.compile.target, "--cost-model"));
  }
  tune.seed = options.seed;
  graph.worker_command = options.worker;
  TCC_ASSIGN_OR_RETURN(graph.policy, PolicyOf(options));
  if (!options.HasBudget()) TCC_RETURN_IF_ERROR(ExpectNoSearch(options));
  if (options.HasBudget() && !options.device.empty()) {
    TCC_ASSIGN_OR_RETURN(const GpuNumber gpu, GpuNumberOf(options.device));
    const Target& target = graph.compile.target;
    if (gpu.device != ArtefactDevice(target)) {
      return UsageError("--device {}: target '{}' runs on device '{}'", options.device, target.name,
                        ArtefactDevice(target));
    }
    graph.ordinal = gpu.ordinal;
  }
  return options.run.empty() ? OkStatus() : RunFolder::CheckTakesRun(options.run);
}

StatusOr<std::optional<MeasurePolicy>> PolicyOf(const TuningOptions& options) {
  auto policy = FindPolicy(options.policy);
  return policy.ok() ? policy : Annotate(policy.status(), "--policy");
}

void DatabaseWarnings::Tell() {
  const std::vector<std::string>& warnings = database_.warnings();
  for (; told_ < warnings.size(); ++told_) progress_.Warn(warnings[told_]);
}

StatusOr<std::vector<TunedSize>> RunTuning(const SizedModel& model, TuneGraphOptions options,
                                           const TuningOptions& tuning, Progress& progress,
                                           Database& database) {
  StopOnSignal signals;
  options.compile.stop = signals.token();
  const size_t count = model.graphs.size(), others = count - model.listed.sizes.size();
  const bool has_folders = !tuning.run.empty() && count > 1;
  std::error_code error;
  if (has_folders) fs::create_directory(tuning.run, error);
  if (error) return InvalidInput("--run: cannot make folder '{}': {}", tuning.run, error.message());
  const TuneOptions budget = options.tune;
  Stopwatch stopwatch;
  int64_t trials = 0;
  std::vector<TunedSize> results;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0 && options.compile.stop.stop_requested()) break;
    std::string size;
    if (!model.listed.sizes.empty()) {
      size = i < others ? "other sizes" : SizeText(model.listed, i - others);
    }
    if (count > 1) progress.Tell(fmt::format("tuning {}", size));
    const double spent = i == 0 ? 0 : stopwatch.Seconds();  // the first size waits for nothing
    options.tune = ShareOf(budget, trials, spent, count - i);
    std::string run = has_folders ? (fs::path(tuning.run) / size).string() : tuning.run;
    StatusOr<TuneResult> result =
        TuneOne(model.graphs[i], options, run, tuning.database, progress, database);
    if (!result.ok()) {
      return count > 1 ? Annotate(result.status(), "at " + size) : result.status();
    }
    trials += result->trials;
    results.push_back({size, *std::move(result)});
  }
  return results;
}

}  // namespace tcc
