#pragma once

#include <string>

#include "cli/command_line.h"

namespace tcc {

// Returns the reference of the command line, docs/cli.md, made from the options themselves.
std::string HelpMarkdown(const CommandLine& program);

}  // namespace tcc
