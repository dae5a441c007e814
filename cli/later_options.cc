#include "cli/later_options.h"

#include "cli/seed_option.h"

namespace tcc {

void AddLaterOptions(CLI::App& app, LaterOptions& options) {
  app.add_option("--db", options.database)->group("");
  app.add_option("--time-budget", options.time_budget)->group("");
  app.add_option("--trials", options.trials)->group("");
  app.add_option("--searcher", options.searcher)->group("");
  AddSeedOption(app, "--seed", options.seed, "Seed of what is random in a compilation")
      ->type_name("S");
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
