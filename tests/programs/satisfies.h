#pragma once

#include "schedule/space/trace.h"

namespace tcc {

// Returns the first constraint of the program that does not hold with the given sizes, or nullptr.
const Constraint* FirstBroken(const SymbolicProgram& program, const Decisions& decisions);
// Returns whether every constraint holds with the given sizes.
bool Satisfies(const SymbolicProgram& program, const Decisions& decisions);

}  // namespace tcc
