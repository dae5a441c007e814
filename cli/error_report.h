#pragma once

#include <string>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "support/status.h"

namespace tcc {

// Adds --errors text|json to the program and all its commands, which must have been added. Only the
// program's help shows it.
void AddErrorsOption(CommandLine& program, std::string& format);

// Chooses how failures are reported, on standard error:
//   text  tcc: MESSAGE (OPTIONS)
//   json  {"error": {"code": 3, "kind": "unsupported", "message": "...", "options": ["--dim
//   N=SIZE"]}}
// The JSON object is the last line, also if SIGINT ends the program. Comes before the arguments are
// parsed, since they may be wrong.
void ChooseErrorFormat(int argc, char** argv);

// Reports a failure and returns its exit code. `hint` is text for people, whole lines.
ExitCode TellFailure(const Status& status, const std::string& hint = "");

// Does the same for a failed allocation without allocating.
ExitCode TellNoMemory();

// Ends the program as the signal does by default; SIGINT is reported if failures are JSON.
void EndBySignal(int signal);

}  // namespace tcc
