#include "cli/later_options.h"

#include <array>

#include "cli/seed_option.h"

namespace tcc {

void AddLaterOptions(CLI::App& app, LaterOptions& options) {
  app.add_option("--db", options.database)->group("");
  app.add_option("--time-budget", options.time_budget)->group("");
  app.add_option("--trials", options.trials)->group("");
  app.add_option("--searcher", options.searcher)->group("");
  app.add_option("--numeric", options.numeric, "Bound of the error against float64")
      ->type_name("strict")
      ->capture_default_str();
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
  if (options.numeric == "strict") return OkStatus();
  constexpr std::array kKnown = {"3xtf32", "tf32", "bf16", "fp16"};
  for (const char* known : kKnown) {
    if (options.numeric == known) {
      return Unsupported("--numeric {}: this version knows only strict", options.numeric);
    }
  }
  return UsageError("--numeric: expected strict, 3xtf32, tf32, bf16 or fp16, got '{}'",
                    options.numeric);
}

}  // namespace tcc
