#pragma once

#include "ir/expr/stmt.h"
#include "ir/expr/substitute.h"
#include "ir/support/status.h"
#include "schedule/analysis/loop_tree.h"

// What several steps ask of loops, of buffers and of the guards of blocks.
namespace tcc {

// `guard` appended to every block in `stmt` that stands in no other one there.
Stmt AddGuard(const Stmt& stmt, const LoopGuard& guard);

// "split: loop 'mm/k' is bound to threadIdx.x; expected a serial loop", or OK.
Status ExpectSerial(const char* step, const Ref<For>& loop);

// By either kind of pipeline.
inline bool IsPipelined(ForKind kind) {
  return kind == ForKind::kPipelined || kind == ForKind::kPipelinedAsync;
}

// The declaration of the buffer with this name. Error: names what there is.
StatusOr<Buffer> BufferNamed(const Function& fn, const std::string& name);
// Refuses a buffer that is computed when the model is linked: its nests stay what they are.
Status ExpectNotPrepacked(const char* step, const Buffer& buffer);
// A buffer of a pipeline stays where its copies and uses are.
Status ExpectUnversioned(const char* step, const Buffer& buffer);

// What is below a vectorized loop has one form a lane, so no bound loop and no allocation goes
// there.
Status ExpectOutsideVectors(const char* step, const Path& path);
// Refuses what would come between the copies and the uses of a pipelined loop.
Status ExpectOutsidePipelines(const char* step, const Path& path);

// Refuses a loop whose iterations hand rows of a circular buffer on to the next: they stay in
// order.
Status ExpectCarriesNothing(const char* step, const Function& fn, const For& loop);

// Whether the binding of a variable of that kind has the loop in it.
bool Feeds(const For& loop, const Block& block, IterKind kind);

// Whether a reduce variable of a block in `loop` has `loop` in its binding, and iterations of the
// loop meet in cells (OwnsCells).
bool FeedsReduction(const For& loop);

}  // namespace tcc
