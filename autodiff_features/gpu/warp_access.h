#pragma once

#include <optional>
#include <vector>

#include "autodiff_features/counts/loop_sites.h"
#include "schedule/analysis/region.h"

// The accesses of the threads of one warp together, as formulas over the free sizes.
namespace tcc {

// Returns the indices of the site's loops that are bound to threads: the innermost one per axis,
// which rebinds those outside, x first.
std::vector<size_t> ThreadLoopsOf(const Site& site);

// A loop over which neighbouring threads of a warp go: a loop bound to threads, a loop that it
// fuses, or a loop that was fused with others and then dealt to the threads.
struct WarpPart {
  Var var;
  Expr extent;  // iterations within a warp
};

// The threads of a warp at a site.
struct WarpParts {
  std::vector<WarpPart> parts;  // fastest first
  // The values of the block's iteration variables, over the parts and the site's other loops.
  std::vector<Expr> bindings;
};

// Takes the loops that are bound to threads apart. 32 neighbouring threads go over all iterations
// of the fastest part, then over those of the next one, as far as they reach: min(32, e0), then
// min(ceildiv(32, e0), e1), ..
WarpParts WarpPartsOf(const Site& site);

// Returns the box that the warp touches while the straight-line code runs once; nullopt if indices
// are not affine in its loops.
std::optional<Box> WarpBoxOf(const Site& site, const WarpParts& warp, const Access& access);

// The instructions of one run of the straight-line code that move an access's cells, per warp.
struct WarpMoves {
  Expr instructions;
  Expr bytes_each;  // per thread
  Expr sectors;     // of global memory, each once per run
  Expr passes;      // of shared memory or L1
  bool exact = true;
};
WarpMoves WarpMovesOf(const Site& site, const WarpParts& warp, const Access& access,
                      const Buffer& buffer);

}  // namespace tcc
