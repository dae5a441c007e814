#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "support/status.h"

namespace tcc {

// The action of a command, which runs once its options are parsed. The status' code says which exit
// code follows (exit_code.h).
using Action = std::function<Status()>;

struct Command {
  std::string_view name;
  std::string_view summary;
  // Adds the command's options to `line`. The action keeps their variables alive.
  Action (*declare)(CommandLine& line);
};

// Returns every command, in the order of the help; commands.cc.
std::span<const Command> Commands();

// Returns what `tcc version` prints, without the last line's end.
std::string VersionText();

Action DeclareBench(CommandLine& line);
Action DeclareCheck(CommandLine& line);
Action DeclareCompile(CommandLine& line);
Action DeclareCompletion(CommandLine& line);
Action DeclareCostModel(CommandLine& line);
Action DeclareDb(CommandLine& line);
Action DeclareDevices(CommandLine& line);
Action DeclareDiff(CommandLine& line);
Action DeclareDoctor(CommandLine& line);
Action DeclareDump(CommandLine& line);
Action DeclareExport(CommandLine& line);
Action DeclareInspect(CommandLine& line);
Action DeclareOnnxTest(CommandLine& line);
Action DeclareOps(CommandLine& line);
Action DeclareReport(CommandLine& line);
Action DeclareRun(CommandLine& line);
Action DeclareTune(CommandLine& line);
Action DeclareVersion(CommandLine& line);
Action DeclareWorker(CommandLine& line);
Action DeclareZoo(CommandLine& line);

}  // namespace tcc
