#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tcc {

// The reference of the command line, docs/cli.md, made from the options themselves.
std::string HelpMarkdown(const CLI::App& app);

}  // namespace tcc
