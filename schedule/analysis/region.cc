#include "schedule/analysis/region.h"

#include <algorithm>

#include "ir/analysis/affine.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"

namespace tcc {
namespace {

struct MovingVars {
  std::vector<Var> vars;
  std::vector<Expr> zeros;
  std::vector<Expr> extents;

  void Push(const Var& var, const Expr& extent) {
    vars.push_back(var);
    zeros.push_back(Expr(0));
    extents.push_back(extent);
  }
};

// The variables of what a loop of extent `inner_extent` times something fuses.
struct FusedVars {
  Var outer;
  Var inner;
};

// Replaces div and mod of `var`, which fuses two loops, in `exprs` by new variables.
FusedVars SplitVar(const Var& var, const Expr& inner_extent, std::vector<Expr>& exprs) {
  FusedVars vars = {LoopVar(var->name + "_div"), LoopVar(var->name + "_mod")};
  Expr div = FloorDivide(var, inner_extent);
  Expr mod = FloorModulo(var, inner_extent);
  auto part = [&](const Expr& expr) -> Expr {
    if (Equal(expr, div)) return vars.outer;
    if (Equal(expr, mod)) return vars.inner;
    return expr;
  };
  for (Expr& expr : exprs) {
    if (UsesVar(expr, var)) expr = RewriteBottomUp(expr, part);
  }
  return vars;
}

// Splits `var`, the variable of a loop, where the loop is fused, and what it fuses again.
void PushParts(const Var& var, const Expr& extent, std::vector<Expr>& exprs, MovingVars& result) {
  if (const auto* product = extent.as<Mul>()) {
    FusedVars vars = SplitVar(var, product->b, exprs);
    PushParts(vars.outer, product->a, exprs, result);
    PushParts(vars.inner, product->b, exprs, result);
  }
  result.Push(var, extent);
}

bool AnyUses(const std::vector<Expr>& exprs, const Var& var) {
  return std::ranges::any_of(exprs, [&](const Expr& expr) { return UsesVar(expr, var); });
}

void TakeLoopApart(const Var& var, const Expr& extent, size_t loop, std::vector<Expr>& exprs,
                   std::vector<LoopPart>& parts) {
  const auto* product = extent.as<Mul>();
  if (product && AnyUses(exprs, var)) {
    std::vector<Expr> split = exprs;
    FusedVars vars = SplitVar(var, product->b, split);
    if (!AnyUses(split, var)) {
      exprs = std::move(split);
      TakeLoopApart(vars.outer, product->a, loop, exprs, parts);
      TakeLoopApart(vars.inner, product->b, loop, exprs, parts);
      return;
    }
  }
  parts.push_back({var, extent, loop});
}

// Replaces div and mod of fused loops in `exprs` by new variables.
MovingVars Unfuse(const std::vector<Ref<For>>& moving, std::vector<Expr>& exprs) {
  MovingVars result;
  for (const Ref<For>& loop : moving) PushParts(loop->var, loop->extent, exprs, result);
  return result;
}

struct Term {
  Expr stride;
  Expr extent;
};

// Whether the terms can be ordered so that each one's stride is the product of the extents before
// it. Terms of extent 1, which stay where they start, are left out by the caller. So products only
// grow: of two terms with the same stride only one can be in an order, and the first one found is
// as good as any.
bool CoverInOrder(std::vector<Term> terms) {
  Expr stride(1);
  while (!terms.empty()) {
    auto next = std::ranges::find_if(
        terms, [&](const Term& term) { return EqualUpToAlgebra(term.stride, stride); });
    if (next == terms.end()) return false;
    stride = stride * next->extent;
    terms.erase(next);
  }
  return true;
}

// Whether `binding` takes every integer of its box once while `loops` move.
bool CoversDensely(const Expr& binding, const MovingVars& loops) {
  std::optional<AffineForm> form = ToAffine(binding, loops.vars);
  if (!form) return false;
  std::vector<Term> terms;
  for (size_t i = 0; i < form->vars.size(); ++i) {
    size_t l = 0;
    while (!(loops.vars[l] == form->vars[i])) ++l;
    if (AsConstant(Simplify(loops.extents[l])) == 1) continue;
    terms.push_back({form->coefficients[i], loops.extents[l]});
  }
  return CoverInOrder(std::move(terms));
}

// Returns the cells of an access whose indices are affine in the loops though not all in the
// block's variables: the place of an element's tile and its place in the tile, whose loops a split
// has made. Nullopt if they are not affine in the loops either.
std::optional<Box> RegionOverLoops(const Access& access, const std::vector<Var>& iters,
                                   const std::vector<Expr>& bindings, const MovingVars& loops) {
  Substitution values;
  for (size_t i = 0; i < iters.size(); ++i) values.emplace(iters[i], bindings[i]);
  Bounds bounds;
  for (size_t l = 0; l < loops.vars.size(); ++l) {
    std::optional<int64_t> extent = AsConstant(loops.extents[l]);
    bounds[loops.vars[l]] = {0, extent ? *extent - 1 : INT64_MAX};
  }
  Box region;
  for (const Expr& index : access.indices) {
    Expr over_loops = Simplify(Substitute(index, values), bounds);
    auto box = BoxOf(over_loops, loops.vars, loops.zeros, loops.extents);
    if (!box) return std::nullopt;
    region.origin.push_back(box->origin);
    region.size.push_back(box->size);
  }
  return region;
}

}  // namespace

std::vector<Ref<For>> MovingLoops(const Path& path, const LoopRef& at, Scope scope) {
  std::vector<Ref<For>> moving;
  bool inside = false;
  for (const Ref<For>& loop : LoopsOn(path)) {
    bool thread = IsThreadIdx(loop->for_kind) || loop->for_kind == ForKind::kVthread;
    if (inside || (scope == Scope::kShared && thread)) moving.push_back(loop);
    inside = inside || loop->key == at;
  }
  return moving;
}

StatusOr<Box> RegionOf(const Block& block, const Access& access,
                       const std::vector<Ref<For>>& moving) {
  std::vector<Expr> bindings;
  for (const IterVar& iter : block.iters) bindings.push_back(iter.binding);
  MovingVars loops = Unfuse(moving, bindings);

  std::vector<Var> iters;
  std::vector<Expr> lows;
  std::vector<Expr> sizes;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    auto box = BoxOf(bindings[i], loops.vars, loops.zeros, loops.extents);
    if (!box) {
      return InvalidInput(
          "block '{}': the binding {} of '{}' is not affine in the loops inside; place "
          "the buffer below the loops that were fused",
          block.name, Print(bindings[i]), block.iters[i].var->name);
    }
    iters.push_back(block.iters[i].var);
    lows.push_back(box->origin);
    sizes.push_back(box->size);
  }
  Box region;
  for (const Expr& index : access.indices) {
    auto box = BoxOf(index, iters, lows, sizes);
    if (!box) {
      if (auto over_loops = RegionOverLoops(access, iters, bindings, loops)) return *over_loops;
      return InvalidInput("block '{}': index {} of buffer '{}' is not affine with rising terms",
                          block.name, Print(index), access.buffer->name);
    }
    region.origin.push_back(box->origin);
    region.size.push_back(box->size);
  }
  return region;
}

StatusOr<Box> Hull(const Box& a, const Box& b) {
  Box hull;
  for (size_t d = 0; d < a.origin.size(); ++d) {
    std::optional<int64_t> shift = AsConstant(Simplify(b.origin[d] - a.origin[d]));
    if (!shift) {
      return InvalidInput(
          "two reads of one buffer start at {} and {}, which do not differ by a constant",
          Print(Simplify(a.origin[d])), Print(Simplify(b.origin[d])));
    }
    bool a_first = *shift >= 0;
    Expr far = a_first ? b.size[d] + Expr(*shift) : a.size[d] + Expr(-*shift);
    hull.origin.push_back(a_first ? a.origin[d] : b.origin[d]);
    hull.size.push_back(MaxOf(a_first ? a.size[d] : b.size[d], far));
  }
  return hull;
}

bool IsDense(const IterVar& iter, const std::vector<Ref<For>>& moving) {
  std::vector<Expr> binding = {iter.binding};
  MovingVars loops = Unfuse(moving, binding);
  return CoversDensely(binding[0], loops);
}

std::vector<LoopPart> TakeApart(const std::vector<Ref<For>>& loops, std::vector<Expr>& exprs) {
  std::vector<LoopPart> parts;
  for (size_t l = 0; l < loops.size(); ++l) {
    TakeLoopApart(loops[l]->var, loops[l]->extent, l, exprs, parts);
  }
  return parts;
}

bool IsDense(const Expr& binding, const std::vector<LoopPart>& parts) {
  MovingVars loops;
  for (const LoopPart& part : parts) loops.Push(part.var, part.extent);
  return CoversDensely(binding, loops);
}

bool IsImpliedByDomain(const LoopGuard& guard, const Block& block) {
  for (const IterVar& iter : block.iters) {
    if (EqualUpToAlgebra(guard.value, iter.binding) &&
        EqualUpToAlgebra(guard.extent, iter.domain)) {
      return true;
    }
  }
  return false;
}

}  // namespace tcc
