#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/interleaved_timing.h"
#include "support/status.h"

namespace tcc {

struct ScheduleSuiteOptions {
  std::string suite = "traces";       // of kernel_suite.h
  std::string kernel;                 // the name of a kernel of the suite; "": all
  std::optional<std::string> traces;  // the folder of NAME.trace; without it, that of this CPU
  std::string trace;                  // a file, for `kernel`
  std::optional<size_t> sketch;       // the number of a sketch, whose start point replaces a trace
  std::string stage;                  // the compiler's stage to print instead of measuring
  std::vector<int> threads = {1, 2};
  std::vector<std::string> peers;  // all if none is named; "none": none
  int rounds = kRounds;
  std::optional<std::string> json;  // a file; "" for stdout
};

// Measures a suite of kernels under hand-written schedules, or sketches, against the peak of the
// CPU and against libraries. Prints a line each. DataLoss for the first kernel that is wrong.
Status RunScheduleSuite(const ScheduleSuiteOptions& options);

}  // namespace tcc
