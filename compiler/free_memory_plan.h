#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/expr/expr.h"
#include "runtime/artefact/memory_plan.h"

namespace tcc {

// A buffer of an arena whose size is a formula over Shape variables; `live` has its bytes at their
// usual values.
struct FreeBuffer {
  Expr bytes;
  LiveBuffer live;
};

struct FreeMemoryPlan {
  std::vector<Expr> offsets;  // of the buffers, in their order; multiples of kArenaAlignment
  Expr arena_bytes = 0;
};

// Gives a formula for the maximum of several, none of which is known to be at most another one.
using MaximumOf = std::function<Expr(const std::vector<Expr>&)>;

// Plans an arena as PlanMemory does at the usual sizes, and keeps the order of that plan at all
// sizes: a buffer begins where the buffers end that lie below it and are live with it. So buffers
// that are live at the same time never overlap, and at the usual sizes the arena is no larger than
// PlanMemory's. Deterministic.
FreeMemoryPlan PlanFreeMemory(std::span<const FreeBuffer> buffers, const MaximumOf& maximum_of);

}  // namespace tcc
