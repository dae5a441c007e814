#include <cmath>

#include "api/compile_request.h"
#include "compiler/tune_graph.h"
#include "runtime/executor/usable_cpus.h"

// The embedding API's function that tunes.
namespace tcc::v1 {
namespace {

// Adds the field of TuneOptions that is at fault.
tcc::Status WithField(const tcc::Status& status, std::string_view field) {
  return WithMessage(status, fmt::format("{} (TuneOptions::{})", Message(status), field));
}

// Checks the options that need no model.
tcc::Status CheckOptions(const TuneOptions& options) {
  if (options.database.empty()) {
    return UsageError("expected the file that measurements are kept in (TuneOptions::database)");
  }
  bool timed = options.seconds > 0 && std::isfinite(options.seconds);
  bool counted = options.trials > 0;
  // The other budget has to be 0; a negative number or NaN is a mistake, too.
  if (timed == counted || (!timed && options.seconds != 0) || (!counted && options.trials != 0)) {
    return UsageError(
        "expected one budget above 0, of time or of trials; got {} seconds and {} trials "
        "(TuneOptions::seconds, TuneOptions::trials)",
        options.seconds, options.trials);
  }
  return WithField(ExpectSearcher(options.searcher), "searcher");
}

TuneProgress ToApi(const TuneEvent& event) {
  return {.seconds = event.seconds,
          .trials = event.trials,
          .kernel = event.task,
          .searcher = event.searcher,
          .status = NameOf(event.measurement.status),
          .best_seconds = event.best_seconds,
          .constructed_seconds = event.constructed_seconds};
}

TuneSummary ToApi(const TuneResult& result) {
  TuneSummary summary{.kernels = {},
                      .trials = result.trials,
                      .statuses = {},
                      .model_constructed_seconds = result.network_constructed_seconds,
                      .model_best_seconds = result.network_best_seconds};
  for (const TaskResult& task : result.tasks) {
    summary.kernels.push_back({.name = task.name,
                               .runs = task.runs,
                               .constructed_seconds = task.constructed_seconds,
                               .best_seconds = task.best_seconds,
                               .best_searcher = task.best_searcher,
                               .trials = task.trials,
                               .problem = task.problem});
  }
  for (const auto& [status, count] : result.statuses) {
    summary.statuses.emplace(NameOf(status), count);
  }
  return summary;
}

StatusOr<TuneSummary> TuneWith(const TuneOptions& options, const ImportFunction& import_model) {
  TCC_RETURN_IF_ERROR(CheckOptions(options));
  if (!options.compile.at.empty()) {
    return UsageError(
        "kernels are measured at one size; expected CompileOptions::dims, and a call for each");
  }
  CompileOptions compile = options.compile;
  compile.schedules.clear();
  compile.database.clear();
  compile.device.clear();
  StatusOr<std::optional<MeasurePolicy>> policy = FindPolicy(options.policy);
  if (!policy.ok()) return WithField(policy.status(), "policy");
  Reporter reporter(compile);
  TCC_ASSIGN_OR_RETURN(CompileRequest request, MakeRequest(compile, import_model, reporter));
  TuneGraphOptions tune;
  tune.compile = std::move(request.options);
  tune.tune.trials = options.trials;
  tune.tune.seconds = options.seconds;
  tune.tune.searcher = options.searcher;
  tune.tune.seed = options.seed;
  if (!options.cost_model.empty()) {
    TCC_ASSIGN_OR_RETURN(tune.tune.model, ReadCostModel(options.cost_model, tune.compile.target,
                                                        "TuneOptions::cost_model"));
  }
  tune.policy = *policy;
  tune.worker_command = options.worker;
  if (options.device >= 0) tune.ordinal = options.device;
  if (options.progress) {
    tune.tune.event = [&](const TuneEvent& event) { options.progress(ToApi(event)); };
  }
  tune.threads = options.threads > 0 ? options.threads : UsableCpus();
  TCC_ASSIGN_OR_RETURN(TuneResult result, TuneIntoDatabase(std::move(request.model.graphs[0]), tune,
                                                           options.database));
  reporter.Log(LogLevel::kInfo, fmt::format("{} trials of {} kernels, recorded in '{}'",
                                            result.trials, result.tasks.size(), options.database));
  return ToApi(result);
}

Result<TuneSummary> TuneOrSay(const TuneOptions& options, const ImportFunction& import_model) {
  return WithinMemory([&]() -> Result<TuneSummary> {
    StatusOr<TuneSummary> summary = TuneWith(options, import_model);
    if (!summary.ok()) return tcc::ToApi(summary.status());
    return *std::move(summary);
  });
}

}  // namespace

Result<TuneSummary> Tune(const std::string& path, const TuneOptions& options) {
  return TuneOrSay(options, [&](const ImportOptions& import) { return ImportOnnx(path, import); });
}

Result<TuneSummary> Tune(std::span<const std::uint8_t> model, const TuneOptions& options) {
  return TuneOrSay(options,
                   [&](const ImportOptions& import) { return ImportOnnxBytes(model, import); });
}

}  // namespace tcc::v1
