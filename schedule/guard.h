#pragma once

#include "ir/stmt.h"
#include "ir/substitute.h"
#include "ir/support/status.h"

// What several steps share about loops and the guards of the blocks below them.
namespace tcc {

// `guard` appended to every block in `stmt`.
Stmt AddGuard(const Stmt& stmt, const LoopGuard& guard);

// "split: loop 'mm/k' is bound to threadIdx.x; expected a serial loop", or OK.
Status ExpectSerial(const char* step, const Ref<For>& loop);

// Whether a reduce variable of a block in `loop` has `loop` in its binding.
bool FeedsReduction(const For& loop);

}  // namespace tcc
