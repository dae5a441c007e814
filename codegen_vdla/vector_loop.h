#pragma once

#include "codegen_vdla/place_buffers.h"

namespace tcc {

// Checks that an innermost loop does one thing to vectors of 16 neighbours: copies them from a
// parameter to the chip, or writes zeros there, or copies sums to a parameter. Conditions must not
// depend on the loop. Unsupported, naming the statement.
Status CheckVectorLoop(const For& loop, const BufferPlaces& places);

}  // namespace tcc
