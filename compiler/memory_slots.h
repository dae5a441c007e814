#pragma once

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

// A piece of an arena for buffers that are never live together. Its size is the maximum of
// `sizes`, rounded up to kArenaAlignment; none of them is proven to be at most another one.
struct MemorySlot {
  std::vector<size_t> members;  // by number
  std::vector<Expr> sizes;
  int64_t usual_bytes = 0;  // rounded up
};

// Assigns the buffers, the larger at usual sizes first, to slots: each to the slot that it wastes
// least of, so that no two members are live at the same time. A slot that holds it at all sizes is
// preferred to one that is as large at the usual ones. Deterministic.
std::vector<MemorySlot> AssignSlots(std::span<const FreeBuffer> buffers);

}  // namespace tcc
