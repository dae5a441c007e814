#pragma once

#include "ir/expr/function.h"
#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

namespace tcc {

// Returns the instructions of a lowered function, in program order and without tokens; its
// parameters are the operands. The function's loops are run, down to nests that do one thing: copy
// vectors of a parameter, or zeros, to the chip; set sums to 0; call the intrinsic; copy sums to a
// parameter. Each nest becomes a few instructions. Memory on the chip is for the intrinsic's
// operands (place_buffers.h).
// Unsupported, naming the statement: free sizes, another statement, an index that is not at a
// vector's begin on the chip, a buffer or micro-ops beyond the chip's room.
StatusOr<VdlaProgram> StreamOf(const Function& lowered, const VdlaConfig& config);

}  // namespace tcc
