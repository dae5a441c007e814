#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/error_report.h"
#include "cli/exit_code.h"
#include "cli/standard_error.h"
#include "support/check.h"

namespace tcc {
namespace {

// Ends the program on a bug in tcc. Nothing is unwound: work that is half done must not go on.
void EndOnBug(const std::string& message) {
  std::fflush(stdout);
  _exit(TellFailure(absl::InternalError(message), "tcc: this is a bug in tcc\n"));
}

// Reports the status and returns its exit code. A full disk shows when the buffer is written,
// before or now.
ExitCode Finish(Status status) {
  bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!written && status.ok()) status = InvalidInput("could not write to standard output");
  return status.ok() ? kExitOk : TellFailure(status);
}

ExitCode EndOnUsageError(const CommandLine& program, const Status& error) {
  std::string command;
  for (const std::string& name : program.GivenCommands()) command += " " + name;
  return TellFailure(error, fmt::format("run 'tcc{} --help' for what is expected\n", command));
}

constexpr char kFirstTry[] = R"(A first try:
  tcc zoo export resnet50 -o resnet50.onnx     a network with random weights; or take a model of yours
  tcc compile resnet50.onnx                    for this CPU, to resnet50.tcc
  tcc run resnet50.tcc --random 1              and what came out, in numbers)";

constexpr const char* kIntroduction = R"(# The command line

This page is printed by `tcc --help-markdown`; a test compares the two.

Data goes to standard output, messages to standard error; a file that is written appears whole or
not at all. A file that is replaced hands on its permissions; a symbolic link stays, and what it
leads to is replaced; of a hard link this one name gets the new content.

| exit code | meaning |
|---|---|
| 0 | all went well |
| 1 | a result is wrong |
| 2 | the command line is wrong |
| 3 | the model uses what this version does not support |
| 4 | an input is bad |
| 5 | a device or a tool is missing |
| 6 | a budget ended |
| 70 | a bug in tcc |
| 130 | interrupted by Ctrl-C |

`--errors json`, which every command takes, tells a failure as one JSON object, the last line on
standard error: its exit code, a kind, the message and the options that would help.

    {"error":{"code":3,"kind":"unsupported","message":"...","options":["--dim N=SIZE"]}}

Kinds: `wrong_result` (1), `usage` (2), `unsupported` (3), `bad_input` and `no_memory` (4),
`missing` (5), `budget` (6), `internal` (70), `cancelled` (130).
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

std::string OptionText(const OptionHelp& option) {
  std::string text = option.names;
  if (size_t comma = text.find(','); comma != text.npos) text.insert(comma + 1, " ");
  if (!text.empty() && !option.type_name.empty()) text += " ";
  return "`" + Escaped(text + option.type_name) + "`";
}

std::string Meaning(const OptionHelp& option) {
  std::string text = option.description;
  if (option.required) text += "; required";
  if (!option.default_value.empty()) text += "; default " + option.default_value;
  return Escaped(text);
}

std::string CommandText(const CommandLine& command, const std::string& title) {
  std::string text = fmt::format("\n## {}\n\n{}.\n", title, command.description());
  std::string rows;
  for (const OptionHelp& option : command.Options()) {
    rows += fmt::format("| {} | {} |\n", OptionText(option), Meaning(option));
  }
  if (!rows.empty()) text += "\n| option | meaning |\n|---|---|\n" + rows;
  for (const CommandLine& inner : command.Commands()) {
    text += CommandText(inner, title + " " + inner.name());
  }
  return text;
}

// Returns the reference of the command line, docs/cli.md, made from the options themselves.
std::string HelpMarkdown(const CommandLine& program) {
  std::string text = kIntroduction;
  for (const CommandLine& command : program.Commands()) {
    text += CommandText(command, "tcc " + command.name());
  }
  return text;
}

ExitCode Run(int argc, char** argv) {
  CommandLine program("tcc", "tcc: a tensor compiler");
  bool markdown = false, version = false;
  program.AddFlag("--help-markdown", markdown).Hide();
  program.AddFlag("--version", version, "Print the version");
  std::vector<std::pair<CommandLine, Action>> actions;
  for (const Command& command : Commands()) {
    CommandLine line = program.AddCommand(std::string(command.name), std::string(command.summary));
    actions.emplace_back(line, command.declare(line));
  }
  std::string errors = "text";
  AddErrorsOption(program, errors);
  program.Footer(kFirstTry);
  StatusOr<CommandLine::Request> request = program.Parse(argc, argv);
  if (!request.ok()) return EndOnUsageError(program, request.status());
  if (*request == CommandLine::Request::kHelp) {
    fmt::print("{}", program.Help());
    return Finish(OkStatus());
  }
  if (markdown) {
    fmt::print("{}", HelpMarkdown(program));
    return Finish(OkStatus());
  }
  if (version) {
    fmt::print("{}\n", VersionText());
    return Finish(OkStatus());
  }
  for (const auto& [line, action] : actions) {
    if (line.given()) return Finish(action());
  }
  return TellFailure(UsageError("a command is expected"), program.Help());
}

}  // namespace
}  // namespace tcc

int main(int argc, char** argv) {
  tcc::OpenStandardStreams();
  // With SIGXFSZ ignored, a write beyond the limit of file sizes fails like one to a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  tcc::SetCheckHandler(tcc::EndOnBug);
  try {
    tcc::ChooseErrorFormat(argc, argv);
    return tcc::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    return tcc::TellNoMemory();
  } catch (const std::system_error& error) {
    // Printing to standard output throws system_error.
    return tcc::TellFailure(tcc::InvalidInput("could not write: {}", error.what()));
  } catch (const std::exception& error) {
    return tcc::TellFailure(absl::InternalError(std::string("unexpected: ") + error.what()));
  }
}
