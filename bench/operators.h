#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cpu/interleaved_timing.h"
#include "support/status.h"

namespace tcc {

struct OperatorSuiteOptions {
  std::string suite;
  std::string kernel;  // one of the suite, or all
  std::string target = "native";
  std::string numeric = "strict";  // the mode of ours and the peers
  int threads = 1;                 // of CPU kernels
  std::vector<std::string> peers;  // all, if none is named; "none": none
  int rounds = kRounds;
  double seconds = 0;                         // no operator is begun after so long; 0: no limit
  bool compile_only = false;                  // fills the cache of compiled programs
  bool text = false;                          // CUDA text, for the emulated driver
  bool quick = false;                         // few launches: only to see that it works
  std::optional<std::string> json, markdown;  // files; "" for stdout
};

// Measures a suite of operators (operator_suite.h), one line each to stderr. DataLoss if any
// fails, at the end: the others are measured all the same. Files hold at any time what was measured
// before, and the operator at hand as one that failed.
Status RunOperatorSuite(const OperatorSuiteOptions& options);

}  // namespace tcc
