#include "cli/help.h"

#include <fmt/core.h>

#include "cli/exit_code.h"
#include "cli/help/option_text.h"

namespace tcc {
namespace {

constexpr const char* kIntroduction = R"(# The command line

This page is printed by `tcc --help-markdown`; a test compares the two.

Data goes to standard output, messages to standard error; a file that is written appears whole or
not at all. A file that is replaced hands on its permissions; a symbolic link stays, and what it
leads to is replaced; of a hard link this one name gets the new content. `-` is standard output for
`tcc db export`, and refused by every other command.

| exit code | meaning |
|---|---|
)";

constexpr const char* kErrors = R"(
`--errors json`, which every command takes, tells a failure as one JSON object, the last line on
standard error: its exit code, a kind, the message and the options that would help.

    {"error":{"code":3,"kind":"unsupported","message":"...","options":["--dim N=SIZE"]}}

Kinds: `wrong_result` (1), `usage` (2), `unsupported` (3), `bad_input` and `no_memory` (4),
`missing` (5), `budget` (6), `internal` (70), `cancelled` (130).

Ctrl-C while candidates are measured ends the measuring alone: `tcc tune` keeps what was measured,
`tcc compile` goes on to write its file with the best of it, and both end with 0. Before anything
was measured it ends both with 130, as a second Ctrl-C does at any time.
)";

// "|" separates a table's cells.
std::string Escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string CommandText(const CommandLine& command, const std::string& title) {
  std::string text = fmt::format("\n## {}\n\n{}.\n", title, command.description());
  std::string rows;
  for (const OptionHelp& option : command.Options()) {
    rows +=
        fmt::format("| `{}` | {} |\n", Escaped(OptionText(option)), Escaped(OptionMeaning(option)));
  }
  if (!rows.empty()) text += "\n| option | meaning |\n|---|---|\n" + rows;
  for (const CommandLine& inner : command.Commands()) {
    text += CommandText(inner, title + " " + inner.name());
  }
  return text;
}

}  // namespace

std::string HelpMarkdown(const CommandLine& program) {
  std::string text = kIntroduction;
  for (const ExitCodeRow& row : ExitCodes()) {
    text += fmt::format("| {} | {} |\n", static_cast<int>(row.code), row.meaning);
  }
  text += kErrors;
  for (const CommandLine& command : program.Commands()) {
    text += CommandText(command, "tcc " + command.name());
  }
  return text;
}

}  // namespace tcc
