#pragma once

#include <span>
#include <string_view>

#include "support/status.h"

namespace tcc {

// The exit codes of the program; the numbers are a contract with scripts.
enum ExitCode {
  kExitOk = 0,
  kExitWrongResult = 1,
  kExitUsage = 2,
  kExitUnsupported = 3,
  kExitBadInput = 4,
  kExitMissing = 5,  // a device or a tool
  kExitBudget = 6,
  kExitInternal = 70,
  kExitCancelled = 130,  // as shells report a program that SIGINT ended
};

// A class of outcomes. The kind is the embedding API's name of the code in snake case, or
// "wrong_result"; it tells apart what shares an exit code.
struct Outcome {
  ExitCode code;
  const char* kind;
};

// An exit code in words, for the help.
struct ExitCodeRow {
  ExitCode code;
  std::string_view meaning;
};
std::span<const ExitCodeRow> ExitCodes();

Outcome OutcomeOf(const Status& status);
ExitCode ExitCodeOf(const Status& status);

}  // namespace tcc
