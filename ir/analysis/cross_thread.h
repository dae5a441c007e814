#pragma once

#include <array>
#include <optional>
#include <vector>

#include "ir/expr/function.h"

// Reductions across the threads of a block: a loop that feeds a reduction is bound to threadIdx.x.
//
//   for i blockIdx.x { for r0 { for r1 threadIdx.x { for r2 vectorized {
//     block sum: reduce sum init (S[i]) with (A[i, r]) } } } }
//
// The bound loop has two iterations or more. Every iteration of the loops that feed the reduction
// adds to the same cell, whichever thread it runs in. Where S is local, each thread along x has the
// result; else the first one stores it. The vectorized loop is innermost and spreads what a thread
// adds over lanes.
//
// A schedule may as well give each thread a partial result of its own (RFactor) and let one thread
// add those up. The result then is no thread's own before a barrier, and nothing says that the
// partial results may stay in registers and be exchanged by shuffles. So the bound loop stands for
// what is meant, as a parallel loop does, and the pass ReduceAcrossThreads spells it out; resources
// know by the functions below what that takes.
namespace tcc {

struct CrossThreadReduction {
  const For* nest = nullptr;    // the outermost loop of the reduction
  const For* thread = nullptr;  // the one that is bound
  const For* lanes = nullptr;   // the vectorized one, nullptr if there is none
  const Block* block = nullptr;
  const Reduce* reduce = nullptr;  // the block's body
};

// `nest` as one: loops down to the block alone, all of which feed reduce variables only, one of
// them bound to threadIdx.x and all others in order but for lanes. Loops further out feed no reduce
// variable of the block; the caller knows.
std::optional<CrossThreadReduction> MatchCrossThread(const For& nest);

// Whether iterations of `loop` meet in what `block`, a reduction, adds up: the loop is in the
// binding of a reduce variable and its iterations have no cells of their own (OwnsCells).
bool MeetsIn(const For& loop, const Block& block);

// How the threads of a launch of threads[0] x threads[1] x threads[2] exchange partial results.
// Conditions over extents that may be free, in this order:
struct ThreadExchange {
  Expr in_warp;   // shuffles in a part of a warp: the threads along x divide 32, warps are whole
  Expr in_warps;  // shuffles, a cell a warp in shared memory, shuffles: x is a multiple of 32
  // else: a cell a thread in shared memory, read one by one
};
ThreadExchange ExchangeOf(const std::array<Expr, 3>& threads);

// What the reduction takes besides: buffers for each element of the combiner, and how many stores
// it adds to the code beside those that combine inputs with partial results.
struct CrossThreadScratch {
  std::vector<Buffer> partial;  // local: a cell a lane
  std::vector<Buffer> total;    // local: a thread's own; `partial` itself where there are no lanes
  std::vector<Buffer> other;    // local: another thread's
  std::vector<Buffer> shared;   // for what goes from warp to warp; perhaps of no cell
  Expr stores;
};
CrossThreadScratch ScratchOf(const CrossThreadReduction& reduction,
                             const std::array<Expr, 3>& threads);

}  // namespace tcc
