#pragma once

#include <string>

#include "support/status.h"

namespace tcc {

// Returns the message of a failure, and the options of the command line that are at fault or would
// help.
std::string MessageWithOptions(const Status& status);

}  // namespace tcc
