#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schedule/space/domain.h"
#include "schedule/space/resources.h"
#include "schedule/steps/step.h"

namespace tcc {

// A schedule as data: its free sizes, each with the values it may take, and the steps over them.
// Decisions (values for the sizes) are kept apart. Manual schedules, templates, generated sketches
// and the default are all traces.
struct Trace {
  std::vector<FreeSize> sizes;
  std::vector<Step> steps;
};

// Prints a line per size ("tile ti 1 64") and per step.
std::string Print(const Trace& trace);
// Returns the trace whose text this is. Blank lines, space round lines and lines that start with
// '#' are skipped. Errors name the line.
StatusOr<Trace> ParseTrace(const std::string& text);

// Values for some or all sizes of a trace, by name.
using Decisions = std::map<std::string, int64_t>;

// A scheduled function with free sizes, and the constraints that must hold at a point: each <= 0.
struct SymbolicProgram {
  Function fn;
  Constraints constraints;
  Trace trace;
  // The needs of the function, as WithLimits found them; nullopt: no limits were added.
  std::optional<std::vector<NestResources>> resources = {};
};

// Applies the steps one by one; sizes without a decision stay free (in fn.vars). Error: the
// first step that is not legal, by number and text, and why; or a decision that its size does not
// allow.
StatusOr<SymbolicProgram> Instantiate(const Function& fn, const Trace& trace,
                                      const Decisions& decisions = {});

// Instantiates the trace with a decision for every size. No point is left to ask about a
// constraint, so each must hold for all values of the loops and of the function's shapes that it
// depends on. Error: Instantiate's; the step and the constraint that may not hold.
StatusOr<Function> Replay(const Function& fn, const Trace& trace, const Decisions& decisions = {});

// Returns the substitution that replaces a program's variables by the decisions.
Substitution ToSubstitution(const Function& fn, const Decisions& decisions);

}  // namespace tcc
