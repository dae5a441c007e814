#include "schedule/trace.h"

#include <sstream>

#include "ir/simplify.h"

namespace tcc {
namespace {

// "tile NAME LOW HIGH"
StatusOr<Var> ParseTile(const std::string& line) {
  std::istringstream words(line);
  std::string keyword, name, rest;
  int64_t low = 0, high = 0;
  if (!(words >> keyword >> name >> low >> high) || (words >> rest) || low < 1 || high < low) {
    return InvalidInput("'{}'; expected 'tile NAME LOW HIGH' with 1 <= LOW <= HIGH", line);
  }
  return TileVar(name, low, high);
}

Substitution Values(const std::vector<Var>& vars, const Decisions& decisions) {
  Substitution values;
  for (const Var& var : vars) {
    auto found = decisions.find(var->name);
    if (found != decisions.end()) values.emplace(var, Expr(found->second));
  }
  return values;
}

Status CheckDecisions(const Trace& trace, const Decisions& decisions) {
  size_t matched = 0;
  for (const Var& var : trace.vars) {
    auto found = decisions.find(var->name);
    if (found == decisions.end()) continue;
    ++matched;
    if (found->second < var->low || found->second > var->high) {
      return InvalidInput("tile '{}' is {}; expected {} to {}", var->name, found->second, var->low,
                          var->high);
    }
  }
  if (matched != decisions.size()) {
    return InvalidInput("{} decisions are for variables that the trace does not have",
                        decisions.size() - matched);
  }
  return OkStatus();
}

}  // namespace

std::string Print(const Trace& trace) {
  std::string text;
  for (const Var& var : trace.vars) {
    text += fmt::format("tile {} {} {}\n", var->name, var->low, var->high);
  }
  for (const Step& step : trace.steps) text += Print(step) + "\n";
  return text;
}

StatusOr<Trace> ParseTrace(const std::string& text) {
  Trace trace;
  std::map<std::string, Var> vars;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    std::string where = fmt::format("line {}", number);
    if (line.starts_with("tile ")) {
      StatusOr<Var> var = ParseTile(line);
      if (!var.ok()) return Annotate(var.status(), where);
      if (!vars.emplace((*var)->name, *var).second) {
        return InvalidInput("{}: tile '{}' is declared twice", where, (*var)->name);
      }
      trace.vars.push_back(*var);
      continue;
    }
    StatusOr<Step> step = ParseStep(line, vars);
    if (!step.ok()) return Annotate(step.status(), where);
    trace.steps.push_back(*std::move(step));
  }
  return trace;
}

StatusOr<SymbolicProgram> Instantiate(const Function& fn, const Trace& trace,
                                      const Decisions& decisions) {
  TCC_RETURN_IF_ERROR(CheckDecisions(trace, decisions));
  Substitution values = Values(trace.vars, decisions);
  SymbolicProgram program{fn, {}, trace};
  program.fn.level = Level::kScheduled;
  for (const Var& var : trace.vars) {
    if (!values.contains(var)) program.fn.vars.push_back(var);
  }
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    Step step = Substitute(trace.steps[i], values);
    StatusOr<Constraints> constraints = Check(program.fn, step);
    if (!constraints.ok()) {
      return Annotate(constraints.status(), fmt::format("step {} ({})", i + 1, Print(step)));
    }
    program.constraints.insert(program.constraints.end(), constraints->begin(), constraints->end());
    program.fn = Apply(program.fn, step);
  }
  return program;
}

StatusOr<Function> Replay(const Function& fn, const Trace& trace, const Decisions& decisions) {
  for (const Var& var : trace.vars) {
    if (!decisions.contains(var->name)) return InvalidInput("tile '{}' has no value", var->name);
  }
  TCC_ASSIGN_OR_RETURN(SymbolicProgram program, Instantiate(fn, trace, decisions));
  return program.fn;
}

Substitution ToSubstitution(const Function& fn, const Decisions& decisions) {
  return Values(fn.vars, decisions);
}

bool Satisfies(const SymbolicProgram& program, const Decisions& decisions) {
  Substitution values = Values(program.fn.vars, decisions);
  for (const Constraint& constraint : program.constraints) {
    std::optional<int64_t> excess = AsConstant(Simplify(Substitute(constraint.expr, values)));
    if (!excess || *excess > 0) return false;
  }
  return true;
}

}  // namespace tcc
