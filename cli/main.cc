#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/error_report.h"
#include "cli/exit_code.h"
#include "cli/help.h"
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

ExitCode Run(int argc, char** argv) {
  CommandLine program("tcc", "tcc: a tensor compiler");
  bool markdown = false, version = false;
  std::string man_folder;
  program.AddFlag("--help-markdown", markdown).Hide();
  program.AddOption("--help-man", man_folder).Hide();
  program.AddFlag("--version", version, "Print the version");
  std::vector<std::pair<CommandLine, Action>> actions;
  for (const Command& command : Commands()) {
    CommandLine line = program.AddCommand(std::string(command.name), std::string(command.summary));
    actions.emplace_back(line, command.declare(line));
  }
  std::string errors = "text";
  AddErrorsOption(program, errors);
  program.Footer(kFirstTry);
  if (argc > 1 && std::string_view(argv[1]) == kCompleteWords) {
    fmt::print("{}", CompletionsOf(program, std::vector<std::string>(argv + 2, argv + argc)));
    return Finish(OkStatus());
  }
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
  if (!man_folder.empty()) return Finish(WriteManPages(program, man_folder));
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
