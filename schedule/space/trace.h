#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/space/domain.h"
#include "schedule/steps/step.h"

namespace tcc {

// A schedule as data: the sizes that are free in it, each with the values it may take, and the
// steps over them. Decisions (values for the sizes) live apart. Manual schedules, templates,
// generated sketches and the default are all traces.
struct Trace {
  std::vector<FreeSize> sizes;
  std::vector<Step> steps;
};

// The same sizes (names, ranges and domains) in the same order, and the same steps over them.
bool operator==(const Trace& a, const Trace& b);

// A line each for the sizes ("tile ti 1 64") and the steps.
std::string Print(const Trace& trace);
// ParseTrace(Print(t)) == t. Blank lines, space round lines and lines that start with '#' are
// skipped. Errors name the line.
StatusOr<Trace> ParseTrace(const std::string& text);

// Values for some or all sizes of a trace, by name.
using Decisions = std::map<std::string, int64_t>;

// The function with free sizes, and what must hold at a point: every constraint <= 0.
struct SymbolicProgram {
  Function fn;
  Constraints constraints;
  Trace trace;
};

// Applies the steps one by one; sizes without a decision stay free (in fn.vars). Error: the
// first step that is not legal, by number and text, and why; or a decision that its size does not
// allow.
StatusOr<SymbolicProgram> Instantiate(const Function& fn, const Trace& trace,
                                      const Decisions& decisions = {});

// Instantiate with a decision for every size.
StatusOr<Function> Replay(const Function& fn, const Trace& trace, const Decisions& decisions = {});

// The variables of a program as a substitution of the decisions.
Substitution ToSubstitution(const Function& fn, const Decisions& decisions);

// Whether every constraint holds with the given sizes.
bool Satisfies(const SymbolicProgram& program, const Decisions& decisions);

}  // namespace tcc
