#pragma once

#include <string>

#include "cli/command_line.h"

namespace tcc {

// Returns an option as it is typed: "-o, --output OUT.tcc", "--json", "M.onnx".
std::string OptionText(const OptionHelp& option);

// Returns the description with what is required and the default: "File to write; required".
std::string OptionMeaning(const OptionHelp& option);

}  // namespace tcc
