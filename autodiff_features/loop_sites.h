#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/analysis/region.h"

// The leaf blocks of a scheduled function in their loops: what every count is made of. Sizes may be
// free; all that is decided here is structure and the same at every point.
namespace tcc {

// A leaf block and the loops round it, outermost first, with fused loops taken apart.
struct Site {
  Ref<Block> block;
  std::vector<Ref<For>> loops;
  std::vector<LoopPart> parts;                // of the loops
  std::vector<Expr> bindings;                 // of the block's iteration variables, over the parts
  std::vector<std::vector<size_t>> parts_of;  // of each iteration variable: places in `parts`
  // Iteration variables that take every integer of their domain once while all parts move, each
  // with parts of its own, unrolled and vectorized ones at the lowest strides. One that another
  // decides (the p of an RFactor, bound to a loop of k) is not among them.
  std::vector<size_t> dense;
  std::vector<size_t> other_parts;  // of no dense variable: repeated work, overlapping windows
  size_t first_spread = 0;          // parts from here on are unrolled or vectorized, to the last
  std::optional<size_t> lane_part;  // the vectorized one
  std::optional<size_t> parallel_loop;  // the outermost parallel one of `loops`
  // Whether counts are exact: no instance is left out by a guard, and no two parts of a variable
  // that is not dense overlap. Otherwise counts are upper bounds.
  bool exact = true;

  bool IsSpread(size_t part) const { return part >= first_spread; }
  // The first of `loops` that is unrolled or vectorized with all inside it; their number without.
  size_t FirstSpreadLoop() const;
  // Whether a reduction's variable is bound to the part.
  bool FeedsReduction(size_t part) const;
};

// A nest at the root of a function, as RootNestsOf has it.
struct NestSites {
  std::string name;
  Stmt stmt;
  std::vector<Site> sites;        // blocks that may have an instance, in order
  bool runs_when_linked = false;  // it prepares constants; no run of the kernel executes it
};

// The nests of a function (kTensor or kScheduled) without nested blocks, in order. The function is
// as steps leave it: simplified, fused loops are not told apart.
std::vector<NestSites> SitesOf(const Function& unnested);

}  // namespace tcc
