#include "schedule/fuse.h"

#include "ir/interval.h"
#include "ir/substitute.h"
#include "ir/support/check.h"
#include "schedule/guard.h"

namespace tcc {

LoopRef FusedKey(const LoopRef& outer, const LoopRef& inner) {
  size_t slash = outer.find('/');
  return outer.substr(0, slash) + "/(" + outer.substr(slash + 1) + "*" +
         inner.substr(inner.find('/') + 1) + ")";
}

StatusOr<Constraints> CheckFuse(const Function& fn, const Fuse& step) {
  TCC_ASSIGN_OR_RETURN(Path outer, FindLoop(fn, step.outer));
  TCC_ASSIGN_OR_RETURN(Path inner, FindLoop(fn, step.inner));
  TCC_RETURN_IF_ERROR(ExpectSerial("fuse", LoopAt(outer)));
  TCC_RETURN_IF_ERROR(ExpectSerial("fuse", LoopAt(inner)));
  if (!LoopAt(outer)->body.same_as(inner.back())) {
    return InvalidInput("fuse: loop '{}' is not the whole body of loop '{}'", step.inner,
                        step.outer);
  }
  // The fused loop is divided by the inner extent.
  Interval extent = BoundsOf(LoopAt(inner)->extent, {});
  if (extent.high < 1) {
    return InvalidInput("fuse: loop '{}' has extent 0; expected at least 1", step.inner);
  }
  if (extent.low >= 1) return Constraints{};
  return Constraints{{Expr(1) - LoopAt(inner)->extent, "a fused inner loop has an iteration"}};
}

Function ApplyFuse(const Function& fn, const Fuse& step) {
  Ref<For> outer = LoopAt(FindLoop(fn, step.outer).value());
  Ref<For> inner = LoopAt(FindLoop(fn, step.inner).value());
  Var fused = LoopVar(outer->var->name + "_" + inner->var->name);
  Stmt body = Substitute(inner->body, {{outer->var, FloorDivide(fused, inner->extent)},
                                       {inner->var, FloorModulo(fused, inner->extent)}});
  Function result = fn;
  result.body = Replace(fn.body, outer.get(),
                        MakeStmt<For>(fused, outer->extent * inner->extent, ForKind::kSerial,
                                      FusedKey(step.outer, step.inner), body));
  return result;
}

}  // namespace tcc
