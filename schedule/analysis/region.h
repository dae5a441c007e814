#pragma once

#include "schedule/analysis/loop_tree.h"

namespace tcc {

// A box of cells: an origin and a size per dimension. Not clamped to the buffer.
struct Box {
  std::vector<Expr> origin;
  std::vector<Expr> size;
};

// Returns the loops that iterate during the lifetime of a buffer that is placed at `at`: the loops
// inside `at` on `path`, and for shared buffers every threadIdx and vthread loop of the path, above
// or below.
std::vector<Ref<For>> MovingLoops(const Path& path, const LoopRef& at, Scope scope);

// Returns the cells that a block's `access` touches while the moving loops run; the other loops are
// symbols. For a moving loop of extent e*f, its div and mod by f count as independent loops of
// extents e and f (Fuse produces these). An index that divides a block's variable may be affine in
// the loops of a split. Error: an index or binding that is not affine in the moving loops, or that
// falls as a loop rises. (reference: symbolic_schedule, "Formulas")
StatusOr<Box> RegionOf(const Block& block, const Access& access,
                       const std::vector<Ref<For>>& moving);

// Returns the smallest box that encloses both. Error: origins that do not differ by constants.
StatusOr<Box> Hull(const Box& a, const Box& b);

// Returns whether the instances of `block` bind `iter` to every integer of its box while the moving
// loops run: each stride is the product of the extents inside, as splits leave it.
bool IsDense(const IterVar& iter, const std::vector<Ref<For>>& moving);

// A loop, or one of the loops that a fused loop consists of: its variable, its extent, and the
// place of the whole loop.
struct LoopPart {
  Var var;
  Expr extent;
  size_t loop;
};

// Takes fused loops apart: their div and mod in `exprs` become variables of their own, as RegionOf
// sees them, outermost first. A loop stays one part if `exprs` also use its variable in another
// way, or do not use it.
std::vector<LoopPart> TakeApart(const std::vector<Ref<For>>& loops, std::vector<Expr>& exprs);

// Returns whether a binding over loops that were taken apart, all of which are moving, is dense.
bool IsDense(const Expr& binding, const std::vector<LoopPart>& parts);

// Returns whether `guard` says no more than `binding < domain` for one of the block's iteration
// variables.
bool IsImpliedByDomain(const LoopGuard& guard, const Block& block);

}  // namespace tcc
