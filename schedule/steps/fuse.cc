#include "schedule/steps/fuse.h"

#include "ir/expr/substitute.h"
#include "ir/simplify/interval.h"
#include "ir/text/printer.h"
#include "schedule/analysis/guard.h"
#include "support/check.h"

namespace tcc {

LoopRef FusedKey(const LoopRef& outer, const LoopRef& inner) {
  size_t slash = outer.find('/');
  return outer.substr(0, slash) + "/(" + outer.substr(slash + 1) + "*" +
         inner.substr(inner.find('/') + 1) + ")";
}

namespace {

StatusOr<Constraints> CheckNested(const char* step, const Function& fn, const LoopRef& outer_loop,
                                  const LoopRef& inner_loop) {
  TCC_ASSIGN_OR_RETURN(Path outer, FindLoop(fn, outer_loop));
  TCC_ASSIGN_OR_RETURN(Path inner, FindLoop(fn, inner_loop));
  TCC_RETURN_IF_ERROR(ExpectSerial(step, LoopAt(outer)));
  TCC_RETURN_IF_ERROR(ExpectSerial(step, LoopAt(inner)));
  if (!LoopAt(outer)->body.same_as(inner.back())) {
    return InvalidInput("{}: loop '{}' is not the whole body of loop '{}'", step, inner_loop,
                        outer_loop);
  }
  // The fused loop is divided by the inner extent.
  Interval extent = BoundsOf(LoopAt(inner)->extent, {});
  if (extent.high < 1) {
    return InvalidInput("{}: loop '{}' has extent 0; expected at least 1", step, inner_loop);
  }
  if (extent.low >= 1) return Constraints{};
  return Constraints{{Expr(1) - LoopAt(inner)->extent, "a fused inner loop has an iteration"}};
}

// Returns `fn` with both loops fused; `place` gives the outer and inner variables' values for the
// fused variable.
Function FuseLoops(const Function& fn, const For& outer, const For& inner,
                   const std::function<std::pair<Expr, Expr>(const Var& fused)>& place) {
  Var fused = LoopVar(outer.var->name + "_" + inner.var->name);
  auto [outer_value, inner_value] = place(fused);
  Stmt body = Substitute(inner.body, {{outer.var, outer_value}, {inner.var, inner_value}});
  Function result = fn;
  result.body = Replace(fn.body, &outer,
                        MakeStmt<For>(fused, outer.extent * inner.extent, ForKind::kSerial,
                                      FusedKey(outer.key, inner.key), body));
  return result;
}

}  // namespace

StatusOr<Constraints> CheckFuse(const Function& fn, const Fuse& step) {
  return CheckNested("fuse", fn, step.outer, step.inner);
}

Function ApplyFuse(const Function& fn, const Fuse& step) {
  Ref<For> outer = LoopAt(FindLoop(fn, step.outer).value());
  Ref<For> inner = LoopAt(FindLoop(fn, step.inner).value());
  return FuseLoops(fn, *outer, *inner, [&](const Var& fused) {
    return std::pair(FloorDivide(fused, inner->extent), FloorModulo(fused, inner->extent));
  });
}

StatusOr<Constraints> CheckRasterize(const Function& fn, const Rasterize& step) {
  TCC_ASSIGN_OR_RETURN(Constraints constraints,
                       CheckNested("rasterize", fn, step.outer, step.inner));
  for (const LoopRef& key : {step.outer, step.inner}) {
    Ref<For> loop = LoopAt(FindLoop(fn, key).value());
    TCC_RETURN_IF_ERROR(ExpectCarriesNothing("rasterize", fn, *loop));
    if (FeedsReduction(*loop)) {
      return InvalidInput("rasterize: loop '{}' feeds a reduction; expected a loop of spatial axes",
                          key);
    }
  }
  Interval rows = BoundsOf(step.rows, {});
  if (rows.high < 1) {
    return InvalidInput("rasterize: loops '{}' and '{}' in bands of {} rows; expected at least 1",
                        step.outer, step.inner, Print(step.rows));
  }
  if (rows.low < 1) constraints.push_back({Expr(1) - step.rows, "a band has a row"});
  return constraints;
}

Function ApplyRasterize(const Function& fn, const Rasterize& step) {
  Ref<For> outer = LoopAt(FindLoop(fn, step.outer).value());
  Ref<For> inner = LoopAt(FindLoop(fn, step.inner).value());
  return FuseLoops(fn, *outer, *inner, [&](const Var& fused) {
    Expr whole = step.rows * inner->extent;
    Expr first = FloorDivide(fused, whole) * step.rows;
    Expr within = FloorModulo(fused, whole);
    // The rows of this band; at least 1 for the verifier, which cannot see that a row is left.
    Expr rows = MaxOf(MinOf(step.rows, outer->extent - first), Expr(1));
    return std::pair(first + FloorModulo(within, rows), FloorDivide(within, rows));
  });
}

}  // namespace tcc
