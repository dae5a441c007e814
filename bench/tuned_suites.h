#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/interleaved_timing.h"
#include "support/status.h"

namespace tcc {

struct TunedSuitesOptions {
  std::vector<std::string> suites;  // of kernel_suite.h
  std::string kernel;               // the name of a kernel of the suites; "": all
  std::string db;                   // the database of the schedules
  std::vector<int> threads;         // none: all CPUs that the process may use
  std::vector<std::string> peers;   // all if none is named; "none": none
  int rounds = kRounds;
  std::optional<std::string> json;  // a file; "" for stdout
};

// Measures kernels under the schedules that `tcc compile --db` would give them, each beside the
// schedule that is compiled without a search and beside libraries. A kernel that the database has
// no measurements of on this CPU and so many threads keeps its start, with a warning on standard
// error. Prints a line each and a summary. Error: the database's.
Status RunTunedSuites(const TunedSuitesOptions& options);

}  // namespace tcc
