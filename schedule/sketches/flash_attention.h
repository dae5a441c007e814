#pragma once

#include "ir/expr/function.h"
#include "support/target.h"

namespace tcc {

// Returns whether a block of `fn` (kTensor) is the core of an attention that the target's sketches
// compute in tiles of keys: ScheduleAttention on a CPU, ScheduleTiledAttention on a GPU if that is
// within its limits.
bool HasFlashAttention(const Function& fn, const Target& target);

// Returns whether tensor cores compute such a core (ScheduleMmaAttention).
bool HasMmaAttention(const Function& fn, const Target& target);

// Returns whether the target's tensor cores multiply an attention's tiles in fragments of 16 bits
// (ScheduleMmaAttention).
bool HasMmaForAttention(const Target& target);

}  // namespace tcc
