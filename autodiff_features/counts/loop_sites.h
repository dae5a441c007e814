#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/analysis/region.h"

// The leaf blocks of a scheduled function in their loops, which every count is derived from. Sizes
// may be free; the sites hold only structure, which is the same at every point.
namespace tcc {

// A leaf block and the loops round it, outermost first, with fused loops split into their parts.
struct Site {
  Ref<Block> block;
  std::vector<Ref<For>> loops;
  std::vector<LoopPart> parts;  // the parts of the loops
  std::vector<Expr> bindings;   // the values of the block's iteration variables, over the parts
  std::vector<std::vector<size_t>> parts_of;  // per iteration variable: indices into `parts`
  // The iteration variables that take every integer of their domain once while all parts move, each
  // with its own parts, unrolled and vectorized ones at the lowest strides. A variable that another
  // one decides (the p of an RFactor, bound to a loop of k) is not among them.
  std::vector<size_t> dense;
  std::vector<size_t> other_parts;      // of no dense variable: repeated work, overlapping windows
  size_t first_spread = 0;              // this part and all behind it are unrolled or vectorized
  std::optional<size_t> lane_part;      // the vectorized part
  std::optional<size_t> parallel_loop;  // the outermost parallel one of `loops`
  // Whether counts are exact: no instance is left out by a guard, and no two parts of a variable
  // that is not dense overlap. Otherwise counts are upper bounds.
  bool exact = true;

  bool IsSpread(size_t part) const { return part >= first_spread; }
  // Returns the index of the first of `loops` that is unrolled or vectorized with all loops inside
  // it; the number of loops if there is none.
  size_t FirstSpreadLoop() const;
  // Returns whether a reduction's variable is bound to the part.
  bool FeedsReduction(size_t part) const;
};

// A nest at the root of a function (RootNestsOf).
struct NestSites {
  std::string name;
  Stmt stmt;
  std::vector<Site> sites;        // blocks that may have an instance, in order
  bool runs_when_linked = false;  // it prepares constants; no run of the kernel executes it
};

// Returns the nests of a function (kTensor or kScheduled) in order. Expects a function as steps
// leave it: simplified, fused loops not split.
std::vector<NestSites> SitesOf(const Function& fn);

}  // namespace tcc
