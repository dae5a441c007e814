#pragma once

#include <string>

#include "cli/command_line.h"
#include "support/status.h"

namespace tcc {

struct CalibrateOptions {
  std::string output;  // "" writes no file
  int threads = 0;     // as AddThreadsOption has it
  bool json = false;
};

void AddCalibrateOptions(CommandLine& line, CalibrateOptions& options);

// Measures this CPU, prints a row for each constant of the prior and writes them as a cost model.
Status RunCalibrate(const CalibrateOptions& options);

}  // namespace tcc
