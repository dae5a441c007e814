#pragma once

#include <cstdint>
#include <string>

#include "cli/command_line.h"
#include "ir/support/status.h"

namespace tcc {

// Options of the command line's contract whose feature this version does not have. They are parsed,
// not shown by --help, and refused: a build script learns that it gets something else.
struct LaterOptions {
  std::string database, time_budget, trials, searcher;
  uint64_t seed = 0;  // accepted: nothing is drawn without a search
};

void AddLaterOptions(CommandLine& line, LaterOptions& options);
// FailedPrecondition for an option of tuning.
Status RefuseLaterOptions(const LaterOptions& options);

}  // namespace tcc
