#pragma once

#include "schedule/space/trace.h"

namespace tcc {

// Returns whether every constraint holds with the given sizes.
bool Satisfies(const SymbolicProgram& program, const Decisions& decisions);

}  // namespace tcc
