#pragma once

#include "ir/expr/function.h"

// The loop passes. Each is total on what Verify accepts and is run by RunPipeline alone, which says
// in one list what holds after it and why it stands where it stands.
namespace tcc {

// Removes the guards that hold at every instance: by the bounds of the loops, or because the domain
// check of an iteration variable says as much. Where a size is free, what holds for its whole
// range.
Function DropPredicates(const Function& fn);

// Reductions whose loops are bound to threads (ir/analysis/cross_thread.h): each thread combines
// what it has, lanes of a warp exchange that by shuffles, warps through shared memory; then all
// threads along x have the result.
//
//   for tx(T) { block s: S += A[tx] }  -->  for tx(X) { p = 0; for t(T) { p += A[t] }
//                                             for s in 0..5 { w[lane] = p; p += w[lane ^ 1 << s] }
//                                             block s: S = p }
//
// A buffer w has a cell a lane; its loads at other lanes are shuffles, on a GPU. A loop of any
// other form is run in order by one thread.
Function ReduceAcrossThreads(const Function& fn);

// Local buffers have no cells of other threads (ir/analysis/own_cells.h).
Function DropCellsOfOthers(const Function& fn);

// Puts barriers between the accesses of shared buffers that could race.
Function InsertBarriers(const Function& fn);

// Blocks become conditions round stores over loop variables; a reduction's init becomes a store at
// the first instance.
Function InlineBlocks(const Function& fn);

// A condition that does not depend on a loop moves out of it.
Function HoistConditions(const Function& fn);

// Windows and layouts become arithmetic: every buffer is flat and every access has one index.
Function FlattenBuffers(const Function& fn);

// What a leaf stores outside local memory is stored by one thread: where its bindings ignore a
// thread axis or a vthread, by index 0 of it. Afterwards that is written out as guards and loops.
Function GuardIdleThreads(const Function& fn);

// Vthread loops become copies of what stands between two barriers; local buffers that live across a
// barrier have a version for each. Buffers are flat.
Function DistributeVthreads(const Function& fn);

// In pipelined loops the copies into buffers of several versions run ahead of their uses. Buffers
// are flat; no buffer has versions afterwards. With S versions and copies P, uses C:
//
//   for t in 0..E pipelined { P(t); barrier; C(t); barrier }  -->
//   P(0) .. P(S-2); for t in 0..E { barrier; if t+S-1 < E { P(t+S-1) }; C(t) }
//
// With pipelined_async, plain copies are AsyncCopy, each P is a group, and `wait(S-2)` stands
// before the barrier. Marks among the uses say where copies stand (ir/expr/issue_mark.h).
Function PipelineLoops(const Function& fn);

// Partitioned loops are split into first iterations, interior and last iterations, so that the
// conditions on them are decided in the interior; as long as the copies stay small. Afterwards all
// of them are serial.
Function PartitionLoops(const Function& fn);

// Conditions (of statements, and of selects) that hold or fail at every point are gone.
Function ResolveConditions(const Function& fn);

// Neighbours under one condition are under it together, so that what they read can be read once.
//
//   if c { A } if c { B }  -->  if c { A B }
Function MergeConditions(const Function& fn);

// Loops marked unrolled are replaced by their iterations; one whose extent is not known becomes
// serial.
Function UnrollLoops(const Function& fn);

// Vectorized loops are replaced by vector statements. A condition that differs between lanes
// becomes a mask, with a version without masks for where all lanes pass.
Function VectorizeLoops(const Function& fn);

// A sequence whose statements have versions by a condition that does not change in it is doubled,
// so that each version is straight-line code, whose masks are computed once.
//
//   if c { A } else { A' } S; if c { B } else { B' }  -->  if c { A S; B } else { A' S; B' }
//
// As long as that adds little code, and not in code for threads of a GPU.
Function UnswitchSequences(const Function& fn);

// An innermost loop whose body has conditions that do not change in it is doubled: without
// conditions for where all hold, as it was for where they do not.
Function UnswitchLoops(const Function& fn);

}  // namespace tcc
