#pragma once

#include <string>

#include "schedule/space/trace.h"

// Steps written as the text of a trace, held against functions written as text.
namespace tcc {

Function FunctionOf(const std::string& text);

// The function after the steps; they must be legal.
SymbolicProgram ProgramOf(const Function& before, const std::string& steps);

// `steps` turn `before` into the text `after` (keys and names count; both sides simplified), and
// what comes out computes what `before` computes, as it is and lowered, by Substitute and by
// Replay.
void CheckSteps(const Function& before, const std::string& steps, const std::string& after,
                const Decisions& decisions = {});

// Only the second half: for steps whose shape another test shows.
void CheckStepResult(const Function& before, const std::string& steps,
                     const Decisions& decisions = {});

// What is said against the last of the steps; those before it must be legal.
std::string RefusalOf(const Function& before, const std::string& steps);

}  // namespace tcc
