#pragma once

#include "ir/expr/stmt.h"
#include "ir/expr/substitute.h"
#include "schedule/analysis/loop_tree.h"
#include "support/status.h"

// Checks of loops, buffers and block guards that several steps share.
namespace tcc {

// Appends `guard` to every block in `stmt`.
Stmt AddGuard(const Stmt& stmt, const LoopGuard& guard);

// Refuses a loop that is not serial: "split: loop 'mm/k' is bound to threadIdx.x; expected a serial
// loop".
Status ExpectSerial(const char* step, const Ref<For>& loop);

// Returns whether the loop is pipelined, synchronously or asynchronously.
inline bool IsPipelined(ForKind kind) {
  return kind == ForKind::kPipelined || kind == ForKind::kPipelinedAsync;
}

// Returns the declaration of the buffer with this name. The error lists the existing buffers.
StatusOr<Buffer> BufferNamed(const Function& fn, const std::string& name);
// Refuses a buffer that is computed when the model is linked: its nests must not change.
Status ExpectNotPrepacked(const char* step, const Buffer& buffer);
// Refuses a buffer that a pipeline stages: it must stay with its copies and uses.
Status ExpectUnversioned(const char* step, const Buffer& buffer);

// Refuses a path inside a vectorized loop: code there is replicated per lane, so it can hold no
// bound loop and no allocation.
Status ExpectOutsideVectors(const char* step, const Path& path);
// Refuses a path inside a pipelined loop: new code would come between its copies and its uses.
Status ExpectOutsidePipelines(const char* step, const Path& path);

// Refuses a loop whose iterations pass rows of a circular buffer on to the next iteration: their
// order must not change.
Status ExpectCarriesNothing(const char* step, const Function& fn, const For& loop);

// Returns whether the binding of one of the block's variables of that kind uses the loop.
bool Feeds(const For& loop, const Block& block, IterKind kind);

// Returns whether a block in `loop` has a reduce variable with `loop` in its binding, and several
// iterations of the loop update one cell (OwnsCells).
bool FeedsReduction(const For& loop);

}  // namespace tcc
