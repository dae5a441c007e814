#pragma once

#include <span>
#include <string>

#include "cli/command_line.h"
#include "support/status.h"

// Help that is made from the options themselves; the folder cli/help has the code.
namespace tcc {

// Returns the reference of the command line, docs/cli.md.
std::string HelpMarkdown(const CommandLine& program);

// Writes the manual into a folder, which is made if it is not there: tcc.1 and a page for each
// command, tcc-compile.1. Error: a file that cannot be written.
Status WriteManPages(const CommandLine& program, const std::string& folder);

// The first argument by which a shell asks for completions; the words follow.
inline constexpr const char* kCompleteWords = "__complete";

// Returns what the last of the words, which follow the program's name, may become. A line each:
//   word TAB --target TAB What to generate code for     the whole word; a description may follow
//   files TAB onnx                                      a file of that suffix; any without one
//   folders                                             a folder
// A file's name follows the last '=' of the word. Words are those that begin with what is typed.
std::string CompletionsOf(const CommandLine& program, std::span<const std::string> words);

}  // namespace tcc
