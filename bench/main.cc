// tcc-bench: measurements for people who work on tcc.

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "bench/subcommand.h"
#include "cli/exit_code.h"

namespace {

using namespace tcc;

constexpr BenchSubcommand kSubcommands[] = {
    {"calibrate", "What a GPU reaches: multiply-adds, copies, launches", DeclareCalibrate},
    {"construct", "Constructed schedules of a GPU's kernels beside their starts", DeclareConstruct},
    {"costs", "What the compiler itself costs", DeclareCosts},
    {"estimate", "Predicted seconds against measured ones", DeclareEstimate},
    {"features", "What is counted of each kernel's sketches, and predicted", DeclareFeatures},
    {"kernels", "Kernels against the peak of the device and against libraries", DeclareKernels},
    {"lattice", "Measures all points of small spaces, for searchers to be compared on",
     DeclareLattice},
    {"search", "Searchers compared on measured spaces", DeclareSearch},
    {"tuning", "Kernels tuned one by one: what a trial costs", DeclareTuning},
    {"vdla", "Cycles of the accelerator for ResNet-18, and a roofline of them", DeclareVdla},
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measurements for people who work on tcc", "tcc-bench");
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, BenchAction>> actions;
  for (const BenchSubcommand& row : kSubcommands) {
    CLI::App* sub = app.add_subcommand(std::string(row.name), std::string(row.summary));
    actions.emplace_back(sub, row.declare(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const auto& [sub, action] : actions) {
    if (!sub->parsed()) continue;
    Status status = action();
    if (status.ok()) return 0;
    fmt::print(stderr, "tcc-bench: {}\n", Message(status));
    return ExitCodeOf(status);
  }
  return 2;
}
