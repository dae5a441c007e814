#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "support/status.h"
#include "support/target.h"
#include "tests/fuzz/random/task_functions.h"

namespace tcc {

struct FuzzOptions {
  int64_t points = 1000;
  uint64_t seed = 1;   // point i of a run uses seed + i, so that any point can be run alone
  double seconds = 0;  // stop after this time; 0: no limit
  std::string corpus;  // of input: a folder with more files to start from
  // Of input: where the files to start from are written. Of model and schedule: where models,
  // inputs and outputs are.
  std::string emit;
  // Of gpu-schedule and formulas: so many points of every sketch of the built-in networks in turn.
  // `seed` is the number of the first of all these, from 1.
  int64_t points_per_sketch = 0;
  // Of cuda: on the device at hand, not the emulator; as text, which the emulated driver takes.
  bool on_device = false;
  bool text = false;
  std::string compile_only;  // the same: for that target, as on_device does, without a device
  Zoo zoo = Zoo::kSmall;     // of sketches
  std::string target;        // of legality: a GPU whose compiler judges; "": none
};

// How often something was met: node kinds, steps, shares of tiles.
using Histogram = std::map<std::string, int64_t>;

struct FuzzResult {
  int64_t passed = 0;
  int64_t failed = 0;
  Histogram histogram;
  Status refused = {};  // why nothing was run
};

// Runs `point` for each seed. A failure is printed to stderr with the line that reproduces it,
// `tcc-fuzz SUBCOMMAND --points 1 --seed S`; so is a failed TCC_CHECK, which ends the run.
FuzzResult RunPoints(const std::string& subcommand, const FuzzOptions& options,
                     const std::function<Status(uint64_t seed, Histogram& histogram)>& point);

// The target that an option names. FailedPrecondition if there is none or it is no GPU.
StatusOr<Target> FindGpuTarget(const std::string& option, const std::string& name);

// What a failed TCC_CHECK says of the point that is running, beside how to reproduce it.
void DescribeRunningPoint(std::string text);

// The subcommands, each described in the table of main.cc.
FuzzResult FuzzCuda(const FuzzOptions& options);
FuzzResult FuzzExpr(const FuzzOptions& options);
FuzzResult FuzzFormulas(const FuzzOptions& options);
FuzzResult FuzzGpuSchedule(const FuzzOptions& options);
FuzzResult FuzzInput(const FuzzOptions& options);
FuzzResult FuzzLegality(const FuzzOptions& options);
FuzzResult FuzzMachineLegality(const FuzzOptions& options);  // legality with a target
FuzzResult FuzzModel(const FuzzOptions& options);
FuzzResult FuzzPlanted(const FuzzOptions& options);
FuzzResult FuzzOpenCl(const FuzzOptions& options);
FuzzResult FuzzSchedule(const FuzzOptions& options);
FuzzResult FuzzText(const FuzzOptions& options);
FuzzResult ListSketches(const FuzzOptions& options);

}  // namespace tcc
