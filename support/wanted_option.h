#pragma once

#include <string>
#include <vector>

#include "support/status.h"

namespace tcc {

// What whoever compiles a model can give; each front end has a name of its own for it.
enum class Option { kDims, kShapes, kBinds, kTarget };

struct WantedOption {
  Option option;
  std::string key;  // for the input or dimension of that name, or of that value; "" for any

  friend bool operator==(const WantedOption&, const WantedOption&) = default;
};

// The same failure, which also says which option is at fault or would help. Its message does not:
// the command line adds "--bind k=FILE.npy" where the embedding API adds "CompileOptions::binds".
Status WithOption(Status status, Option option, const std::string& key = "");

// In the order in which they were added, keys in printable ASCII.
std::vector<WantedOption> WantedOptions(const Status& status);

}  // namespace tcc
