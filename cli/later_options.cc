#include "cli/later_options.h"

namespace tcc {

void AddLaterOptions(CommandLine& line, LaterOptions& options) {
  line.AddOption("--db", options.database).Hide();
  line.AddOption("--time-budget", options.time_budget).Hide();
  line.AddOption("--trials", options.trials).Hide();
  line.AddOption("--searcher", options.searcher).Hide();
  line.AddOption("--seed", options.seed, "Seed of what is random in a compilation")
      .ShowDefault()
      .TypeName("S");
}

Status RefuseLaterOptions(const LaterOptions& options) {
  const std::pair<const char*, const std::string*> tuning[] = {
      {"--db", &options.database},
      {"--time-budget", &options.time_budget},
      {"--trials", &options.trials},
      {"--searcher", &options.searcher},
  };
  for (const auto& [name, value] : tuning) {
    if (value->empty()) continue;
    return UsageError("{}: this version does not tune; every kernel gets its default schedule",
                      name);
  }
  return OkStatus();
}

}  // namespace tcc
