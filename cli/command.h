#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/support/status.h"

namespace tcc {

// What a command does once its options are parsed. The status' code says which exit code follows
// (exit_code.h).
using Action = std::function<Status()>;

struct Command {
  std::string_view name;
  std::string_view summary;
  // Adds the command's options to `app`. They are kept alive by the action.
  Action (*declare)(CLI::App& app);
};

// Every command, in the order of the help; commands.cc.
std::span<const Command> Commands();

// What `tcc version` prints, without the last line's end.
std::string VersionText();

Action DeclareBench(CLI::App& app);
Action DeclareCheck(CLI::App& app);
Action DeclareCompile(CLI::App& app);
Action DeclareDevices(CLI::App& app);
Action DeclareDoctor(CLI::App& app);
Action DeclareDump(CLI::App& app);
Action DeclareInspect(CLI::App& app);
Action DeclareOnnxTest(CLI::App& app);
Action DeclareOps(CLI::App& app);
Action DeclareRun(CLI::App& app);
Action DeclareVersion(CLI::App& app);
Action DeclareZoo(CLI::App& app);

}  // namespace tcc
