#include "cli/compile/tuning_options.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "autodiff_features/model_file.h"
#include "cli/compile/run_folder.h"
#include "search/searchers/searcher.h"

namespace tcc {
namespace {

constexpr std::string_view kAuto = "auto";
// Stands for `auto`: the policy that made networks fastest in equal time.
constexpr std::string_view kAutomaticPolicy = "in-place";
constexpr std::string_view kPolicies[] = {"auto", "in-place", "rotate-64M", "warm"};
constexpr double kMaxSeconds = 365.0 * 24 * 3600;

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
      {"--seed", options.seed != plain.seed},
  };
  for (const auto& [option, is_given] : given) {
    if (is_given) return UsageError("{}: expected a budget: --trials or --time-budget", option);
  }
  return OkStatus();
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
      .TypeName(fmt::format("{}", fmt::join(kPolicies, "|")))
      .ShowDefault();
  line.AddOption("--seed", options.seed, "Seed of what is random").ShowDefault().TypeName("S");
  line.AddOption("--run", options.run,
                 "Folder to make for run.json, events.jsonl and worker.log of the run")
      .TypeName("DIR");
}

Status SetTuning(const TuningOptions& options, TuneGraphOptions& graph) {
  TuneOptions& tune = graph.tune;
  if (options.trials > 0 && !options.time_budget.empty()) {
    return UsageError("--trials and --time-budget: expected one of them");
  }
  tune.trials = options.trials;
  if (!options.time_budget.empty()) {
    TCC_ASSIGN_OR_RETURN(tune.seconds, ParseTimeBudget(options.time_budget));
  }
  tune.searcher = options.searcher;
  if (SearchersNamed(tune.searcher).empty()) {
    return UsageError("--searcher {}: this version has {}", options.searcher,
                      fmt::join(SearcherNames(), ", "));
  }
  if (!options.cost_model.empty()) {
    TCC_ASSIGN_OR_RETURN(LearnedModel model, ReadModel(options.cost_model));
    tune.model = std::make_shared<const LearnedModel>(std::move(model));
  }
  tune.seed = options.seed;
  std::string_view policy = options.policy == kAuto ? kAutomaticPolicy : options.policy;
  std::optional<MeasurePolicy> found = FindMeasurePolicy(policy);
  if (!found) {
    return UsageError("--policy {}: this version has {}", options.policy,
                      fmt::join(kPolicies, ", "));
  }
  graph.policy = *found;
  if (!options.HasBudget()) TCC_RETURN_IF_ERROR(ExpectNoSearch(options));
  return options.run.empty() ? OkStatus() : RunFolder::CheckTakesRun(options.run);
}

StatusOr<double> ParseTimeBudget(const std::string& text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, text.data() + text.size() - end);
  double scale = 0;
  if (unit.empty() || unit == "s") scale = 1;
  if (unit == "ms") scale = 1e-3;
  if (unit == "m" || unit == "min") scale = 60;
  if (unit == "h") scale = 3600;
  double seconds = number * scale;
  if (error != std::errc() || !(seconds > 0) || !(seconds <= kMaxSeconds)) {
    return UsageError("--time-budget {}: expected a time as 90s, 5m or 1h", text);
  }
  return seconds;
}

}  // namespace tcc
