#include "schedule/steps/split.h"

#include <algorithm>

#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/text/printer.h"
#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

// Returns whether memory says where a window under the loop begins. No guard keeps that from being
// read in iterations beyond the loop's extent.
bool LooksUpWindows(const For& loop) {
  return Contains(loop.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    return allocate && std::ranges::any_of(allocate->buffer.window.origin, [&](const Expr& origin) {
             return HasLoad(origin) && UsesVar(origin, loop.var);
           });
  });
}

}  // namespace

StatusOr<Constraints> CheckSplit(const Function& fn, const Split& step) {
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectSerial("split", LoopAt(path)));
  if (step.factors.empty()) return InvalidInput("split: loop '{}' is given no factor", step.loop);
  Constraints constraints;
  for (const Expr& factor : step.factors) {
    if (factor.dtype() != kInt64 || BoundsOf(factor, {}).high < 1) {
      return InvalidInput("split: factor {} of loop '{}'; expected an integer of at least 1",
                          Print(factor), step.loop);
    }
    if (BoundsOf(factor, {}).low < 1) {
      constraints.push_back({Expr(1) - factor, "a split factor is at least 1"});
    }
  }
  const For& loop = *LoopAt(path);
  if (LooksUpWindows(loop)) {
    Expr tile(1);
    for (const Expr& factor : step.factors) tile = tile * factor;
    constraints.push_back({CeilDivide(loop.extent, tile) * tile - loop.extent,
                           "tiles divide a loop under which memory says where a window begins"});
  }
  return constraints;
}

Function ApplySplit(const Function& fn, const Split& step) {
  Path path = FindLoop(fn, step.loop).value();
  Ref<For> loop = LoopAt(path);

  size_t levels = step.factors.size() + 1;
  std::vector<Var> vars;
  std::vector<Expr> extents(levels);
  std::vector<Expr> strides(levels, Expr(1));
  for (size_t i = 0; i < levels; ++i) {
    vars.push_back(LoopVar(loop->var->name + std::to_string(i)));
    if (i > 0) extents[i] = step.factors[i - 1];
  }
  for (size_t i = levels - 1; i > 0; --i) {
    strides[i - 1] = i == levels - 1 ? extents[i] : extents[i] * strides[i];
  }
  extents[0] = CeilDivide(loop->extent, strides[0]);

  Expr value = vars[0] * strides[0];
  for (size_t i = 1; i < levels; ++i) {
    value = value + (i == levels - 1 ? Expr(vars[i]) : vars[i] * strides[i]);
  }
  Stmt body = Substitute(loop->body, loop->var, value);
  body = AddGuard(body, {value, loop->extent});
  for (size_t i = levels; i-- > 0;) {
    body = MakeStmt<For>(vars[i], extents[i], ForKind::kSerial, loop->key + "." + std::to_string(i),
                         body);
  }
  Function result = fn;
  result.body = Replace(fn.body, loop.get(), body);
  return result;
}

}  // namespace tcc
