#pragma once

#include <cstdint>

#include "schedule/sketches/parts/sketch.h"

namespace tcc::test {

// The sketch is right where it starts and at some random points that are legal: Substitute, Replay,
// the interpreter and machine code agree there.
void CheckSketchAtPoints(const Function& fn, const Sketch& sketch, uint64_t seed);

}  // namespace tcc::test
