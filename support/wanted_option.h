#pragma once

#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

// An option of a compilation that a failure can ask for; each front end has its own name for it.
enum class Option { kDims, kRanges, kShapes, kBinds, kTarget, kLinks };

struct WantedOption {
  Option option;
  std::string key;  // the name of an input or dimension, or a value; "" for any or none

  friend bool operator==(const WantedOption&, const WantedOption&) = default;
};

// Returns the same failure, which now carries the option that is at fault or would help. The
// message does not name it: the command line adds "--bind k=FILE.npy", the embedding API
// "CompileOptions::binds".
Status WithOption(Status status, Option option, const std::string& key = "");

// Returns the options in the order in which they were added, keys in printable ASCII.
std::vector<WantedOption> WantedOptions(const Status& status);

}  // namespace tcc
