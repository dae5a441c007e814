#include "schedule/space/free_schedule.h"

#include <algorithm>

#include "ir/expr/constant_fold.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/placement.h"
#include "schedule/space/runnable_schedule.h"
#include "schedule/steps/prefetch.h"
#include "schedule/steps/prepack.h"

namespace tcc {
namespace {

bool IsShape(const Var& var) {
  return var->role == VarRole::kShape;
}

// Returns the number that an integer operation on numbers gives, or the expression. Simplify would
// also replace the variable of a loop of one iteration by 0, and steps would no longer find the
// loop that a block's variable is bound to.
Expr FoldInteger(const Expr& expr) {
  return expr.dtype() == kInt64 ? FoldConstant(expr).value_or(expr) : expr;
}

void Fold(std::vector<Expr>& exprs) {
  for (Expr& expr : exprs) expr = RewriteBottomUp(expr, FoldInteger);
}

bool UsesShape(const Function& fn, const auto& where) {
  return std::ranges::any_of(fn.vars,
                             [&](const Var& var) { return IsShape(var) && UsesVar(where, var); });
}

// Returns whether the step would make a constant whose nest depends on shapes, by itself or by an
// operand that stays in the kernel for that reason.
bool PreparesByShapes(const Function& fn, const Prepack& step) {
  StatusOr<Path> path = FindBlock(fn, step.block);
  return path.ok() && (UsesShape(fn, NestOf(*path)) || !CheckPrepack(fn, step).ok());
}

// Returns whether the number of hints in an iteration depends on shapes: inner loops would divide
// by it.
bool PrefetchesByShapes(const Function& fn, const Prefetch& step) {
  for (const StatusOr<Path>& path : {FindLoop(fn, step.at), FindBlock(fn, step.block)}) {
    if (!path.ok()) continue;
    for (const Ref<For>& loop : LoopsInside(*path, step.over)) {
      if (UsesShape(fn, loop->extent)) return true;
    }
  }
  return false;
}

// Returns the step that spreads its hints over the iterations that are there.
Step ForFewRows(const Step& step) {
  const auto* prefetch = step.as<Prefetch>();
  if (prefetch == nullptr) return step;
  Prefetch present = *prefetch;
  present.pace = PrefetchPace::kPresent;
  return present;
}

bool IsLeftOut(const Function& fn, const Step& step) {
  if (const auto* prepack = step.as<Prepack>()) return PreparesByShapes(fn, *prepack);
  if (const auto* prefetch = step.as<Prefetch>()) return PrefetchesByShapes(fn, *prefetch);
  return false;
}

}  // namespace

bool HasFreeShapes(const Function& fn) {
  return std::ranges::any_of(fn.vars, IsShape);
}

Function TwinOf(const Function& fn) {
  if (!HasFreeShapes(fn)) return fn;
  Substitution usual;
  for (const Var& var : fn.vars) {
    if (IsShape(var)) usual.emplace(var, Expr(var->usual));
  }
  Function twin = Substitute(fn, usual);
  for (Buffer& param : twin.params) {
    Fold(param.shape);
    Fold(param.layout.strides);
    Expr& offset = param.layout.offset;
    if (offset) offset = RewriteBottomUp(offset, FoldInteger);
  }
  twin.body = RewriteExprs(twin.body, FoldInteger);
  return twin;
}

Schedule FreeSchedule(const Function& fn, const Schedule& of_twin) {
  if (!HasFreeShapes(fn)) return of_twin;
  Substitution values;
  for (const FreeSize& size : of_twin.trace.sizes) {
    auto decision = of_twin.decisions.find(size.var->name);
    if (decision != of_twin.decisions.end()) values.emplace(size.var, Expr(decision->second));
  }
  Schedule schedule = of_twin;
  schedule.trace.steps.clear();
  Function current = fn;
  current.level = Level::kScheduled;
  bool is_legal = true;
  for (const Step& step : of_twin.trace.steps) {
    const Step free = ForFewRows(step);
    const Step with_values = Substitute(free, values);
    if (is_legal && IsLeftOut(current, with_values)) continue;
    schedule.trace.steps.push_back(free);
    is_legal = is_legal && Check(current, with_values).ok();
    if (is_legal) current = Apply(std::move(current), with_values);
  }
  return schedule;
}

StatusOr<Function> ReplayFree(const Function& fn, const Schedule& of_twin, const Target& target) {
  return ReplayFor(target, fn, FreeSchedule(fn, of_twin));
}

}  // namespace tcc
