#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/expr/function.h"
#include "support/target.h"

// Reductions across the threads of a block: a loop that feeds a reduction is bound to threadIdx.x.
//
//   for i blockIdx.x { for r0 { for r1 threadIdx.x { for r2 vectorized {
//     block sum: reduce sum init (S[i]) with (A[i, r]) } } } }
//
// The bound loop has two iterations or more. Every iteration of the loops that feed the reduction
// adds to the same cell, whichever thread it runs in. Where S is local, each thread along x has the
// result; else the first thread stores it. The vectorized loop is innermost and spreads a thread's
// additions over lanes.
//
// A schedule can also give each thread its own partial result (RFactor) and let one thread add them
// up. Then the result is not available before a barrier, and nothing says that the partial results
// may stay in registers and be exchanged by shuffles. So the bound loop expresses the intent, like
// a parallel loop, and the pass ReduceAcrossThreads expands it. Resource estimates use the
// functions below to know its cost.
namespace tcc {

struct CrossThreadReduction {
  const For* nest = nullptr;    // the outermost loop of the reduction
  const For* thread = nullptr;  // the bound loop
  const For* lanes = nullptr;   // the vectorized loop; may be nullptr
  const Block* block = nullptr;
  const Reduce* reduce = nullptr;  // the block's body
};

// Matches `nest`: loops down to a single block, all of which feed reduce variables only; one is
// bound to threadIdx.x, and all others are in order except the lanes. The caller knows that outer
// loops feed no reduce variable of the block.
std::optional<CrossThreadReduction> MatchCrossThread(const For& nest);

// Returns whether iterations of `loop` meet in a result of `block`, a reduction: the loop is in the
// binding of a reduce variable and its iterations own no cells (OwnsCells).
bool MeetsIn(const For& loop, const Block& block);

// How the threads of a launch of threads[0] x threads[1] x threads[2] exchange partial results:
// conditions over extents that may be free, tried in this order.
struct ThreadExchange {
  Expr in_warp;   // shuffles in a part of a warp: the threads along x divide 32, warps are whole
  Expr in_warps;  // shuffles, a shared cell per warp, shuffles: x is a multiple of 32
  // A shared cell per thread, folded in halves: the target has no warps. Else read one by one.
  bool in_tree = false;
};
ThreadExchange ExchangeOf(const Function& fn, const std::array<Expr, 3>& threads);

// Notes in a function for a GPU whether the target's threads exchange registers by shuffles;
// without the note they do. Schedules and passes keep it. It takes effect on ReduceAcrossThreads
// and on estimates of resources, so it must be there before either.
void NoteWarps(Function& fn, const Target& target);
// The attribute of that note, which renaming keeps.
inline constexpr std::string_view kWithoutWarps = "without_warps";

// The extra resources of the reduction: buffers per element of the combiner, and the number of
// stores that it adds to those that combine inputs with partial results.
struct CrossThreadScratch {
  std::vector<Buffer> partial;  // local: a cell per lane
  std::vector<Buffer> total;    // local: the thread's own; `partial` itself without lanes
  std::vector<Buffer> other;    // local: another thread's
  std::vector<Buffer> shared;   // for the exchange between warps; may have no cells
  Expr stores;
};
CrossThreadScratch ScratchOf(const Function& fn, const CrossThreadReduction& reduction,
                             const std::array<Expr, 3>& threads);

}  // namespace tcc
