#pragma once

#include "runtime/vdla/vdla_isa.h"

namespace tcc {

// Orders the instructions of a verified program without tokens, so that each one begins after the
// instructions of neighbouring units that write the vectors that it reads, or access the vectors
// that it writes.
//
// Walking the instructions of a unit in order, a token is needed only for a later instruction of
// the neighbour than any before: that one ends after all earlier ones of its unit. So the pushes
// and pops of a direction come in the same order, and a counter without identity is enough. Each
// token goes forward in the program, so there is no deadlock.
void AddTokens(VdlaProgram& program, const VdlaConfig& config);

// Orders a program without tokens so that an instruction begins after all earlier ones of
// neighbouring units. A load and a store between the same two GEMMs are the only instructions that
// may run side by side; they share the memory's port.
void SerializeWithTokens(VdlaProgram& program);

}  // namespace tcc
