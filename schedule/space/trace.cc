#include "schedule/space/trace.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <sstream>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/space/overflow.h"

namespace tcc {
namespace {

void AddValue(const Var& var, const Decisions& decisions, Substitution& values) {
  auto found = decisions.find(var->name);
  if (found != decisions.end()) values.emplace(var, Expr(found->second));
}

Status CheckDecisions(const Trace& trace, const Decisions& decisions) {
  Decisions unknown = decisions;
  for (const FreeSize& size : trace.sizes) {
    auto found = decisions.find(size.var->name);
    if (found == decisions.end()) continue;
    unknown.erase(found->first);
    if (!Allows(size, found->second)) {
      return InvalidInput("tile '{}' is {}; expected a value of '{}'", size.var->name,
                          found->second, Print(size));
    }
  }
  if (!unknown.empty()) {
    return InvalidInput("tile '{}' is set to {}, but the trace does not have it",
                        unknown.begin()->first, unknown.begin()->second);
  }
  return OkStatus();
}

// Returns the values that the loop variables take.
Bounds LoopBoundsOf(const Function& fn) {
  Bounds bounds;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (!loop) return;
    int64_t most = BoundsOf(loop->extent, bounds).high;
    bounds[loop->var] = {0, most == INT64_MAX ? most : std::max<int64_t>(most - 1, 0)};
  });
  return bounds;
}

// Checks that a constraint holds for all values of the loops and shapes that it depends on.
Status ExpectAlwaysHolds(const Constraint& constraint, const Function& fn) {
  if (VarsOf(constraint.expr).empty()) return OkStatus();  // ExpectKnownToHold saw it
  if (BoundsOf(Simplify(constraint.expr), LoopBoundsOf(fn)).high <= 0) return OkStatus();
  return InvalidInput("{} may be above 0; expected at most 0, since {}", Print(constraint.expr),
                      constraint.why);
}

// Whether a program may have free sizes; without any there is no point left at which a constraint
// could be asked.
enum class Sizes { kFree, kDecided };

Status DoStep(const Step& step, bool first, Sizes sizes, SymbolicProgram& program) {
  TCC_RETURN_IF_ERROR(ExpectModestNumbers(step));
  TCC_ASSIGN_OR_RETURN(Constraints constraints, Check(program.fn, step));
  for (const Constraint& constraint : constraints) {
    TCC_RETURN_IF_ERROR(ExpectKnownToHold(constraint));
    if (sizes == Sizes::kDecided) TCC_RETURN_IF_ERROR(ExpectAlwaysHolds(constraint, program.fn));
  }
  program.constraints.insert(program.constraints.end(), constraints.begin(), constraints.end());
  Stmt before = program.fn.body;
  program.fn = Apply(std::move(program.fn), step);
  return ExpectNoOverflow(program.fn, first ? Stmt() : before);
}

StatusOr<SymbolicProgram> ApplyTrace(const Function& fn, const Trace& trace,
                                     const Decisions& decisions, Sizes sizes) {
  TCC_RETURN_IF_ERROR(CheckDecisions(trace, decisions));
  Substitution values;
  for (const FreeSize& size : trace.sizes) AddValue(size.var, decisions, values);
  SymbolicProgram program{fn, {}, trace};
  program.fn.level = Level::kScheduled;
  for (const FreeSize& size : trace.sizes) {
    if (!values.contains(size.var)) program.fn.vars.push_back(size.var);
  }
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    Step step = Substitute(trace.steps[i], values);
    Status status = DoStep(step, i == 0, sizes, program);
    if (!status.ok()) return Annotate(status, fmt::format("step {} ({})", i + 1, Print(step)));
  }
  return program;
}

}  // namespace

std::string Print(const Trace& trace) {
  std::string text;
  for (const FreeSize& size : trace.sizes) text += Print(size) + "\n";
  for (const Step& step : trace.steps) text += Print(step) + "\n";
  return text;
}

StatusOr<Trace> ParseTrace(const std::string& text) {
  Trace trace;
  std::map<std::string, Var> vars;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    absl::StripAsciiWhitespace(&line);
    if (line.empty() || line[0] == '#') continue;
    std::string where = fmt::format("line {}", number);
    if (line.starts_with("tile ")) {
      StatusOr<FreeSize> size = ParseFreeSize(line);
      if (!size.ok()) return Annotate(size.status(), where);
      if (!vars.emplace(size->var->name, size->var).second) {
        return InvalidInput("{}: tile '{}' is declared twice", where, size->var->name);
      }
      trace.sizes.push_back(*std::move(size));
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
  return ApplyTrace(fn, trace, decisions, Sizes::kFree);
}

StatusOr<Function> Replay(const Function& fn, const Trace& trace, const Decisions& decisions) {
  for (const FreeSize& size : trace.sizes) {
    if (!decisions.contains(size.var->name)) {
      return InvalidInput("tile '{}' has no value; expected one by 'set {} VALUE'", size.var->name,
                          size.var->name);
    }
  }
  TCC_ASSIGN_OR_RETURN(SymbolicProgram program, ApplyTrace(fn, trace, decisions, Sizes::kDecided));
  return program.fn;
}

Substitution ToSubstitution(const Function& fn, const Decisions& decisions) {
  Substitution values;
  for (const Var& var : fn.vars) AddValue(var, decisions, values);
  return values;
}

}  // namespace tcc
