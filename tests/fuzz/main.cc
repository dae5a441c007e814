// tcc-fuzz: random programs and points against independent oracles.

#include <CLI/CLI.hpp>
#include <limits>
#include <string_view>

#include "cli/exit_code.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace tcc;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Subcommand {
  const char* name;
  FuzzResult (*run)(const FuzzOptions& options);
  const char* description;
};

constexpr Subcommand kSubcommands[] = {
    {"cuda", FuzzCuda, "CUDA text of random functions and schedules, run by the emulator"},
    {"expr", FuzzExpr, "simplifier, bounds, prover and affine forms against plain evaluation"},
    {"formulas", FuzzFormulas,
     "what sketches take of a machine, by formula and counted in the lowered function"},
    {"gpu-schedule", FuzzGpuSchedule,
     "GPU sketches at random points: threads, barriers and races, by the interpreter"},
    {"input", FuzzInput, "spoilt models, tensors, arrays and artefacts are refused, not obeyed"},
    {"legality", FuzzLegality,
     "points that satisfy the constraints lower, fit and compile; those that do not do not"},
    {"model", FuzzModel,
     "random models, with free dimensions too: machine code, interpreter and graph passes agree"},
    {"opencl", FuzzOpenCl,
     "the same for OpenCL: its text compiles, and the emulator runs the kernels as CUDA text"},
    {"planted", FuzzPlanted, "known mistakes, planted into right programs, are found"},
    {"schedule", FuzzSchedule,
     "symbolic programs and free sizes: Substitute, Replay, interpreter and machine code agree"},
    {"sketches", ListSketches,
     "a table: the sketches that the built-in networks' operators get, and whether they tile"},
    {"text", FuzzText, "functions print, parse back and keep their key; broken texts are refused"},
};

// How many points there may be at least: input may only write the files that it starts from.
int64_t LeastPoints(const Subcommand& row) {
  return row.run == FuzzInput ? 0 : 1;
}

int Report(const FuzzResult& result) {
  if (!result.refused.ok()) {
    fmt::print(stderr, "tcc-fuzz: {}\n", Message(result.refused));
    return ExitCodeOf(result.refused);
  }
  for (const auto& [name, count] : result.histogram) fmt::print("{:>12}  {}\n", count, name);
  fmt::print("{} passed, {} failed\n", result.passed, result.failed);
  return result.failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Random programs and points against independent oracles");
  app.require_subcommand(1);
  FuzzOptions options;
  for (const Subcommand& row : kSubcommands) {
    CLI::App* subcommand = app.add_subcommand(row.name, row.description);
    subcommand->add_option("--points", options.points, "How many points")
        ->check(CLI::Range(LeastPoints(row), kMax).description(""));
    subcommand->add_option("--seed", options.seed, "Seed of the first point; later ones count up");
    subcommand->add_option("--seconds", options.seconds, "Stop after this time; 0: no limit")
        ->check(CLI::Range(0.0, 1e9).description(""));
    if (row.run == FuzzGpuSchedule || row.run == FuzzFormulas) {
      subcommand
          ->add_option("--points-per-sketch", options.points_per_sketch,
                       "So many points of every sketch of the built-in networks")
          ->check(CLI::Range(int64_t{1}, kMax).description(""));
    }
    if (row.run == ListSketches) {
      subcommand->add_flag_callback(
          "--full", [&] { options.zoo = Zoo::kFull; }, "The networks as they are, not small");
    }
    if (row.run == FuzzLegality) {
      subcommand->add_option("--target", options.target,
                             "A GPU: its sketches alone, each point compiled by NVRTC");
    }
    if (row.run == FuzzCuda) {
      CLI::Option* device =
          subcommand->add_flag("--device", options.on_device, "On the GPU at hand, by NVRTC");
      subcommand
          ->add_flag("--text", options.text, "Text, for the emulated driver in TCC_CUDA_DRIVER")
          ->needs(device);
      subcommand
          ->add_option("--compile-only", options.compile_only,
                       "A GPU: what --device runs on one is compiled, and kept in the cache")
          ->excludes(device);
    }
    if (row.run == FuzzInput) {
      subcommand->add_option("--corpus", options.corpus, "Folder with more files to start from");
      subcommand->add_option("--emit", options.emit, "Folder for the files to start from");
    }
    if (row.run == FuzzModel || row.run == FuzzSchedule) {
      subcommand->add_option("--emit", options.emit, "Folder for models, inputs and outputs");
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  for (const Subcommand& row : kSubcommands) {
    const CLI::App* subcommand = app.get_subcommand(row.name);
    if (!*subcommand) continue;
    bool all = options.points_per_sketch > 0 && subcommand->count("--points") == 0;
    if (all) options.points = kMax;
    return Report(row.run(options));
  }
  return 2;
}
