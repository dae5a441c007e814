#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/interleaved_timing.h"
#include "support/status.h"

namespace tcc {

struct OperatorSuiteOptions {
  std::string suite;
  std::string kernel;  // the name of an operator of the suite; "": all
  std::string target = "native";
  std::string numeric = "strict";  // the mode of our kernels and of the peers
  int threads = 1;                 // of CPU kernels
  std::vector<std::string> peers;  // all if none is named; "none": none
  int rounds = kRounds;
  double seconds = 0;                         // no operator begins after so long; 0: no limit
  bool compile_only = false;                  // fills the cache of compiled programs
  bool text = false;                          // CUDA text, for the emulated driver
  bool quick = false;                         // few launches: only to see that it works
  std::optional<std::string> json, markdown;  // files; "" for stdout
};

// Measures a suite of operators (operator_suite.h) and prints a line each to stderr. An operator
// that fails does not stop the others; DataLoss at the end if any failed. At any time the files
// hold the results so far, and the operator in progress as one that failed.
Status RunOperatorSuite(const OperatorSuiteOptions& options);

}  // namespace tcc
