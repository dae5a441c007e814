#pragma once

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
};

ExitCode ExitCodeOf(const Status& status);

}  // namespace tcc
