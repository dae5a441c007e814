#pragma once

#include "schedule/analysis/loop_tree.h"

namespace tcc {

// A box of cells: origin and size a dimension. Not clamped to the buffer.
struct Box {
  std::vector<Expr> origin;
  std::vector<Expr> size;
};

// The loops that move during the lifetime of a buffer that is placed at `at`: the loops inside `at`
// on `path`, and for shared buffers every threadIdx and vthread loop of the path, above or below.
std::vector<Ref<For>> MovingLoops(const Path& path, const LoopRef& at, Scope scope);

// The cells that a block's `access` touches while the moving loops run; the other loops are
// symbols. For a moving loop of extent e*f, its div and mod by f count as independent loops of
// extents e and f (Fuse produces these). Error: an index or binding that is not affine in the
// moving loops, or that falls as a loop rises. (reference: symbolic_schedule, "Formulas")
StatusOr<Box> RegionOf(const Block& block, const Access& access,
                       const std::vector<Ref<For>>& moving);

// The smallest box that encloses both. Error: origins that do not differ by constants.
StatusOr<Box> Hull(const Box& a, const Box& b);

// Whether the instances of `block` bind `iter` to every integer of its box while the moving loops
// run: each stride is the product of the extents inside, as splits leave it.
bool IsDense(const IterVar& iter, const std::vector<Ref<For>>& moving);

// A loop, or one of the loops that it fuses: its variable, extent and the place of the loop.
struct LoopPart {
  Var var;
  Expr extent;
  size_t loop;
};

// Takes fused loops apart: their div and mod in `exprs` become variables of their own, as RegionOf
// sees them, outermost first. A loop whose variable `exprs` use in another way, too, or not at all,
// is one part.
std::vector<LoopPart> TakeApart(const std::vector<Ref<For>>& loops, std::vector<Expr>& exprs);

// IsDense of a binding over loops that were taken apart: all of them move.
bool IsDense(const Expr& binding, const std::vector<LoopPart>& parts);

// True if `guard` says no more than `binding < domain` of one of the block's iteration variables.
bool IsImpliedByDomain(const LoopGuard& guard, const Block& block);

}  // namespace tcc
