#pragma once

#include "ir/expr/stmt.h"

namespace tcc {

// Returns whether a load under `body` (kLowered) may read a cell of the buffer in a lane that
// counts after a masked store has left that cell out. If none does, masked stores to the buffer may
// write all their lanes. True also where that is not known: an index is not constant, or a mask
// loads or varies under `body`; and where no store has a mask.
//
//   sum[ramp(8, 1, 8)] = .. mask ramp(8, 1, 8) < broadcast(12, 8)        leaves out 12 to 15
//   C[ramp(i, 1, 8)] = sum[ramp(8, 1, 8)] mask ramp(8, 1, 8) < broadcast(12, 8)    reads 8 to 11
bool ReadsLeftOutLanes(const Stmt& body, const Var& buffer);

}  // namespace tcc
