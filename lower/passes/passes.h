#pragma once

#include "ir/expr/function.h"
#include "ir/simplify/interval.h"

// The loop passes. Each is total on the functions that Verify accepts. Only RunPipeline runs them;
// its list says what holds after each pass and why it stands at its place.
namespace tcc {

// Removes the guards that hold at every instance: by the bounds of the loops, or because the domain
// check of an iteration variable implies them. With a free size, a guard must hold for its whole
// range.
Function DropPredicates(const Function& fn);

// Lowers reductions whose loops are bound to threads (ir/analysis/cross_thread.h). Each thread
// reduces its own elements, the lanes of a warp exchange partial results by shuffles, and warps do
// so through shared memory. All threads along x have the result at the end.
//
//   for tx(T) { block s: S += A[tx] }  -->  for tx(X) { p = 0; for t(T) { p += A[t] }
//                                             for s in 0..5 { w[lane] = p; p += w[lane ^ 1 << s] }
//                                             block s: S = p }
//
// The buffer w has one cell per lane; a load from another lane's cell is a shuffle on a GPU. A loop
// of any other form runs in order in one thread.
Function ReduceAcrossThreads(const Function& fn);

// Inserts barriers between accesses of shared buffers that could race.
Function InsertBarriers(const Function& fn);

// Makes serial the unrolled loops whose iterations a free extent may cut, unless a cell of a local
// buffer depends on the loop: each copy would bring a condition of its own, and where that is a
// tile's, two versions of the tile. Functions without free extents, or over threads, stay as they
// are.
Function RollCutLoops(const Function& fn);

// Writes two versions of a loop's body that has buffers of its own and blocks that a free extent
// may end within it: one for bodies that are whole, without guards, and one for the last. There a
// block that writes to the buffers of the body alone has no guard either: instances behind the end
// compute what the last one computes, into cells that nobody reads. Where 8 or more rows may be
// there, a last body of 4 or fewer has a version of its own that computes 4. A body behind the end
// is left out. Functions without free extents, or over threads, stay as they are.
//
//   for i in 0..I { alloc t; for r in 0..6 unrolled { if i * 6 + r < n { t[r] = f(i * 6 + r) } }
//   ... }
//     -->  for i in 0..I { if i * 6 + 5 < n { ... t[r] = f(i * 6 + r) ... }
//                          else if i * 6 < n { ... t[r] = f(min(i * 6 + r, n - 1)) ... } }
Function VersionTiles(const Function& fn);

// Replaces blocks by conditional stores over loop variables. A reduction's init becomes a store at
// the first instance.
Function InlineBlocks(const Function& fn);

// Hoists conditions out of the loops that they do not depend on.
Function HoistConditions(const Function& fn);

// Turns windows and layouts into index arithmetic: every buffer is flat and every access has one
// index.
Function FlattenBuffers(const Function& fn);

// Makes the global buffers inside loops over blocks workspaces round the launch, with a part for
// each block. Expects flat buffers.
//
//   for x blockIdx.x { alloc P[c]; .. P[i] .. }  -->  alloc P[X * c]; for x blockIdx.x { .. P[x * c
//   + i] .. }
Function HoistWorkspaces(const Function& fn);

// Makes one thread perform each store of a leaf outside local memory: index 0 of every thread axis
// or vthread that its bindings ignore. Writes these rules out as guards and loops.
Function GuardIdleThreads(const Function& fn);

// Replaces vthread loops by one copy per virtual thread of the code between two barriers. A local
// buffer that lives across a barrier gets one version per virtual thread. Expects flat buffers.
Function DistributeVthreads(const Function& fn);

// Makes the copies into multi-version buffers of a pipelined loop run ahead of their uses. Expects
// flat buffers; afterwards no buffer has versions. With S versions, copies P and uses C:
//
//   for t in 0..E pipelined { P(t); barrier; C(t); barrier }  -->
//   P(0) .. P(S-2); for t in 0..E { barrier; if t+S-1 < E { P(t+S-1) }; C(t) }
//
// With pipelined_async, plain copies become AsyncCopy, selects between a load and 0 too, each P is
// a group, and `wait(S-2)` stands before the barrier.
//
// Products of a group of warps in C lag where S > 2: they go on in the next iteration. The copies
// then run S-2 iterations ahead, into the version of t-2, which nobody reads behind the barrier:
//
//   .. for t in 0..E { wait(S-3); barrier; C(t); product_commit; if .. { P(t+S-2) };
//                      product_wait(1) }; product_wait(0)
Function PipelineLoops(const Function& fn);

// Splits partitioned loops into first iterations, interior and last iterations, so that their
// conditions are decided in the interior, as long as the copies stay small. All of them are serial
// afterwards.
Function PartitionLoops(const Function& fn);

// Removes the conditions of statements and selects that hold or fail at every point. With free
// extents, also those that the branches around them decide, and that differ from these by a number:
// the versions of a tile ask i < n - 7 and i < n within each other.
Function ResolveConditions(const Function& fn);
// Does the first in a statement, where `bounds` are those of the enclosing loops.
Stmt ResolveConditions(const Stmt& stmt, const Bounds& bounds);
// Does both in a statement.
Stmt ResolveBranches(const Stmt& stmt);

// Merges neighbouring statements under equal conditions, so that their loads can be shared.
//
//   if c { A } if c { B }  -->  if c { A B }
Function MergeConditions(const Function& fn);

// Replaces unrolled loops by their iterations. A loop of unknown extent becomes serial.
Function UnrollLoops(const Function& fn);

// Commits each sequence of neighbouring products of a group of warps and waits for them, unless a
// commit follows it: PipelineLoops has written those that go on for longer.
Function CommitProducts(const Function& fn);

// Replaces vectorized loops by vector statements. A condition that differs between lanes becomes a
// mask, with an unmasked version for the case that all lanes pass.
Function VectorizeLoops(const Function& fn);

// Duplicates a sequence whose statements branch on a condition that does not change in it. Each
// copy is straight-line code whose masks are computed once.
//
//   if c { A } else { A' } S; if c { B } else { B' }  -->  if c { A S; B } else { A' S; B' }
//
// Applies only while the added code stays small, and never to code for the threads of a GPU.
Function UnswitchSequences(const Function& fn);

// Duplicates an innermost loop that has loop-invariant conditions: one copy without them for the
// case that all hold, else the original loop.
Function UnswitchLoops(const Function& fn);

// Names the divisions by Shape variables, each where the last of its variables is bound. Such a
// division takes tens of cycles, and machine code cannot compute one ahead that stands under a
// condition, for fear of a divisor of 0; ours are at least 1.
//
//   for f in 0..n * m { for i in 0..4 { if i < f div m { A[f mod m, i] = .. } } }
//     -->  for f in 0..n * m { let q0 = f div m { let q1 = f mod m {
//            for i in 0..4 { if i < q0 { A[q1, i] = .. } } } } }
Function NameDivisions(const Function& fn);

}  // namespace tcc
